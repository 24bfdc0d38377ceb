"""A study of 100 architectures on the layers of ResNet-50: seconds cold and warm, and throughput.

    python -m benchmarks.explore
    python -m benchmarks.explore --mapper cosa --points 4
    python -m benchmarks.explore --answers kept --executors local,dask,ray --processes 1,2

Cold starts with an empty folder of answers and no results; warm keeps the folder and deletes the
results; loop answers the tasks of warm in a plain loop of this process, so that the difference is
what processes cost; again keeps folder and results, so that only what the study itself does is
left. Cold is of the first executor and the last number of processes; warm is of all of them, with
clusters on this machine. ``start_seconds`` is what passed until processes had answered greedy
questions about one architecture, and no part of ``seconds``; ``cpu_seconds`` are those of all
processes together, and ``overhead_ms`` is what they are more than the loop's, per task.
``--answers`` names a folder to keep, which a later call finds warm. Needs psutil.
Rows go to ``benchmarks/results/explore.csv``.
"""

import argparse
import importlib
import itertools
import os
import sys
import tempfile
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from accnn.compiler.explore.executors.choose import choose_executor
from accnn.compiler.explore.executors.executor import Executor
from accnn.compiler.explore.results.database import open_database
from accnn.compiler.explore.run import StudyRun, digest_of_study
from accnn.compiler.explore.study.read import Study, read_study
from accnn.compiler.explore.work.machine import machine_of
from accnn.compiler.explore.work.maker import maker_of
from accnn.compiler.explore.work.outcome import TaskOutcome
from accnn.compiler.explore.work.question import StudyTask
from benchmarks.rows import append_rows

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "explore.csv"
LOOP = "loop"
STUDY = """
name = "100 architectures"
base = "simba.toml"
networks = ["{layers}#resnet50"]
objective = "{objective}"

[parameters]
gb.capacity = {{ from = "32 KiB", to = "512 KiB", factor = 2 }}
ib.capacity = ["4 KiB", "8 KiB", "16 KiB", "32 KiB"]
pe.size = [4, 8, 16, 32, 64]

[search]
points = {points}

[mapping]
mapper = "{mapper}"
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One run."""

    mapper: str
    objective: str
    points: int
    tasks: int
    executor: str
    processes: int
    state: str
    start_seconds: float
    seconds: float
    cpu_seconds: float
    tasks_per_second: float
    overhead_ms: float | None = None


@dataclass(frozen=True)
class PlainLoop:
    """An executor without processes, limits or retries."""

    def run(self, tasks: Sequence[StudyTask]) -> Iterator[tuple[StudyTask, TaskOutcome]]:
        """Yield every task with its outcome, one after the other."""
        for task in tasks:
            yield task, task.answer()

    def close(self) -> None:
        """Nothing is to be given back."""


def main(argv: list[str] | None = None) -> int:
    """Run the benchmark."""
    arguments = _arguments(argv)
    with tempfile.TemporaryDirectory() as folder:
        study = _study(Path(folder), arguments)
        results = Path(folder) / "results.db"
        if not (arguments.answers and arguments.answers.exists()):
            name, processes = arguments.executors[0], arguments.processes[-1]
            _show(arguments, _timed(study, Path(folder), arguments, "cold", name, processes))
            results.unlink()
        loop = _timed(study, Path(folder), arguments, "warm", LOOP, 1)
        _show(arguments, loop)
        _show(arguments, _timed(study, Path(folder), arguments, "again", LOOP, 1))
        for name, processes in itertools.product(arguments.executors, arguments.processes):
            results.unlink()
            row = _timed(study, Path(folder), arguments, "warm", name, processes)
            spent = row.cpu_seconds - loop.cpu_seconds
            _show(arguments, replace(row, overhead_ms=round(1e3 * spent / row.tasks, 2)))
    return 0


def _names(text: str) -> list[str]:
    return text.split(",")


def _counts(text: str) -> list[int]:
    return [int(item) for item in text.split(",")]


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--mapper", default="output-stationary")
    parser.add_argument("--objective", default="edp")
    parser.add_argument("--points", type=int, default=100)
    parser.add_argument("--processes", type=_counts, default=[2], help="e.g. 1,2")
    parser.add_argument("--executors", type=_names, default=["local"], help="local,dask,ray")
    parser.add_argument("--answers", type=Path, help="folder of answers, made if missing")
    parser.add_argument("--output", type=Path, default=RESULTS)
    return parser.parse_args(argv)


def _study(folder: Path, arguments: argparse.Namespace) -> Study:
    path = folder / "study.toml"
    layers = os.path.relpath(HERE / "data" / "cosa_layers.csv", folder)
    path.write_text(
        STUDY.format(
            layers=layers,
            objective=arguments.objective,
            points=arguments.points,
            mapper=arguments.mapper,
        )
    )
    return read_study(path)


def _timed(
    study: Study,
    folder: Path,
    arguments: argparse.Namespace,
    state: str,
    name: str,
    processes: int,
) -> Row:
    begun = time.perf_counter()
    with _executor(name, processes) as executor:
        assert all(outcome.cycles for _, outcome in executor.run(_first(study)))
        started, spent = time.perf_counter(), _cpu_seconds()
        make = maker_of(study, arguments.answers or folder / "answers")
        database = open_database(f"sqlite:///{folder / 'results.db'}")
        database.begin(study.tables.name, digest_of_study(study, make), study.text)
        StudyRun(study, database, executor, make, _unobserved, _unkept).run()
        seconds, spent = time.perf_counter() - started, _cpu_seconds() - spent
    tasks = len(database.answered())
    return Row(
        mapper=arguments.mapper,
        objective=arguments.objective,
        points=len(database.points()),
        tasks=tasks,
        executor=name,
        processes=processes,
        state=state,
        start_seconds=round(started - begun, 2),
        seconds=round(seconds, 2),
        cpu_seconds=round(spent, 2),
        tasks_per_second=round(tasks / seconds, 1),
    )


def _first(study: Study) -> list[StudyTask]:
    """Return greedy questions about the first architecture, whose answers nobody keeps."""
    arch = machine_of(study, study.space.point((0,) * len(study.space.axes))).arch
    assert arch is not None
    parts = maker_of(study, None)(arch, "output-stationary")
    return [
        StudyTask(key=part.asked.key, label=part.name, asked=part.asked, timeout=300.0, retries=0)
        for part in parts
    ]


def _cpu_seconds() -> float:
    """Return the CPU time of this process and of all that it started and that are alive [s]."""
    psutil = importlib.import_module("psutil")
    here = psutil.Process()
    times = [item.cpu_times() for item in (here, *here.children(recursive=True))]
    return sum(item.user + item.system for item in times)


@contextmanager
def _executor(name: str, processes: int) -> Generator[Executor]:
    """Start an executor, and its cluster on this machine, and end both."""
    with ExitStack() as stack:
        if name == LOOP:
            executor = PlainLoop()
        elif name == "dask":
            distributed = importlib.import_module("distributed")
            cluster = distributed.LocalCluster(
                n_workers=processes, threads_per_worker=1, dashboard_address=None
            )
            stack.enter_context(cluster)
            executor = choose_executor(cluster.scheduler_address.replace("tcp", "dask"), 1)
        else:
            executor = choose_executor("ray://" if name == "ray" else name, processes)
        stack.callback(executor.close)
        yield executor


def _show(arguments: argparse.Namespace, row: Row) -> None:
    sys.stdout.write(f"{row}\n")
    sys.stdout.flush()
    append_rows(arguments.output, Row, [row])


def _unobserved(done: int, total: int) -> None:
    """Report to nobody."""


def _unkept(values: Mapping[int, float | None]) -> None:
    """Keep nothing."""


if __name__ == "__main__":
    sys.exit(main())
