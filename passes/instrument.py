"""Observers around every pass: verify, time, print, reproduce, report progress.

Args:
    step: The pass and its position.
    before: The module that the pass got.
    after: The module that it made.
    record: Its time and counters.
    error: Why it failed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ..ir.errors import AccnnError, VerifyError
from ..ir.module import Module
from ..ir.text.printer import print_module
from .base import Context, Pass
from .header import Header
from .pipeline import print_pass

_DATA = ".safetensors"


@dataclass(frozen=True, slots=True, kw_only=True)
class PassStep:
    """One pass of a run.

    Attributes:
        number: Its place in the pipeline, from 1.
        total: Number of passes in the pipeline.
        item: The pass.
        ctx: What it gets.
    """

    number: int
    total: int
    item: Pass
    ctx: Context


@dataclass(frozen=True, slots=True, kw_only=True)
class PassRecord:
    """What is known of a pass that has run.

    Attributes:
        name: Its name.
        text: Its pipeline text, with options.
        seconds: How long it took, instruments excluded [s].
        counters: What it counted, as (name, value) pairs.
        changed: Whether it returned another module.
    """

    name: str
    text: str
    seconds: float
    counters: tuple[tuple[str, int | float], ...]
    changed: bool


class Instrument(Protocol):
    """Watches a run. Subclasses override what they need; the default does nothing."""

    def started(self, step: PassStep, before: Module) -> None:
        """Look at the module that a pass gets."""

    def finished(self, step: PassStep, before: Module, after: Module, record: PassRecord) -> None:
        """Look at what a pass made; raising ``VerifyError`` fails the pass."""

    def failed(self, step: PassStep, before: Module, error: Exception) -> str | None:
        """Look at a failure; what is returned is added to the error as a hint."""
        return None


class VerifyEach(Instrument):
    """Verify the module after every pass that changed it."""

    def finished(self, step: PassStep, before: Module, after: Module, record: PassRecord) -> None:
        """Verify the module.

        Raises:
            VerifyError: It is not valid.
        """
        if after is before:
            return
        try:
            after.verify(known=before)
        except AccnnError as error:
            raise VerifyError(f"the module is not valid afterwards: {error}") from error


class PrintAfter(Instrument):
    """Print the module after some passes, or after all.

    Args:
        sink: Gets the text.
        names: The passes; ``None`` for all.
    """

    def __init__(self, sink: Callable[[str], None], names: frozenset[str] | None = None) -> None:
        self._sink = sink
        self._names = names

    def finished(self, step: PassStep, before: Module, after: Module, record: PassRecord) -> None:
        """Print the module if the pass is one of the chosen."""
        if self._names is None or step.item.name in self._names:
            title = f"// after {record.text} ({step.number}/{step.total})"
            self._sink(f"{title}\n{print_module(after)}")


class ReportProgress(Instrument):
    """Tell which pass begins.

    Args:
        sink: Called with the pass, its number from 1, and the number of passes.
    """

    def __init__(self, sink: Callable[[Pass, int, int], None]) -> None:
        self._sink = sink

    def started(self, step: PassStep, before: Module) -> None:
        """Tell it."""
        self._sink(step.item, step.number, step.total)


class Timing(Instrument):
    """Keep the record of every pass that has run, also where a later one fails."""

    def __init__(self) -> None:
        self._records: list[PassRecord] = []

    @property
    def records(self) -> tuple[PassRecord, ...]:
        """Records in the order of the run."""
        return tuple(self._records)

    def finished(self, step: PassStep, before: Module, after: Module, record: PassRecord) -> None:
        """Keep the record."""
        self._records.append(record)

    def table(self) -> str:
        """Return the records as lines of text with a total."""
        rows = [(item.seconds, item.text) for item in self._records]
        rows.append((sum(seconds for seconds, _ in rows), "total"))
        return "".join(f"{seconds:10.3f} s  {text}\n" for seconds, text in rows)


class WriteReproducer(Instrument):
    """Where a pass fails, write its input and its name to a file that ``acc-opt`` runs.

    Args:
        path: The file to write, e.g. ``reproducer.ir``; constants go to a file beside it. Where one
            of them exists, both get a number: ``reproducer-2.ir``.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def failed(self, step: PassStep, before: Module, error: Exception) -> str | None:
        """Write the file and say so."""
        path = _free(self._path)
        constants = path.with_suffix(_DATA) if before.constants else None
        try:
            self._write(step, before, error, path, constants)
        except OSError as trouble:
            return f"no reproducer: {path}: {trouble.strerror}"
        return f"to reproduce: acc-opt {path}"

    def _write(
        self,
        step: PassStep,
        before: Module,
        error: Exception,
        path: Path,
        constants: Path | None,
    ) -> None:
        head = Header(
            pipeline=print_pass(step.item),
            seed=step.ctx.seed,
            constants=constants.name if constants else None,
        )
        first = str(error).split("\n", maxsplit=1)[0]
        note = f"// fails with {type(error).__name__}: {first}\n"
        path.write_text(f"{head}{note}{print_module(before)}", encoding="utf-8")
        if constants is not None:
            before.constants.save(constants)


def _free(path: Path) -> Path:
    """Return a path that is not taken, nor that of its constants: with a number where need be."""
    found, number = path, 1
    while found.exists() or found.with_suffix(_DATA).exists():
        number += 1
        found = path.with_stem(f"{path.stem}-{number}")
    return found
