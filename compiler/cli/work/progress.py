"""What the terminal shows while a compilation works: the step, how far it is, and for how long."""

from collections.abc import Generator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from ...stopwatch import Observer


@contextmanager
def shown_progress() -> Generator[Observer]:
    """Give an observer that draws one line on stderr, and wipe it at the end.

    Nothing is drawn where stderr is not a terminal.
    """
    console = Console(stderr=True)
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description:<24}"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as progress:
        task = progress.add_task("start", total=None)

        def observe(step: str, done: int, total: int) -> None:
            shown = f"{step} {done}/{total}" if total else step
            progress.update(task, description=shown, completed=done, total=total or None)

        yield observe
