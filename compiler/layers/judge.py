"""Nests that others found, judged by the cost model as those of our mappers are."""

from dataclasses import dataclass
from pathlib import Path

from ...ir.errors import InputError, OptionError, ParseError, VerifyError
from ...passes.mapping.mapper import Mapper, MappingResult, MappingStatus
from ...passes.mapping.problem import MappingProblem
from ...passes.mapping.timeloop import read_mapping


@dataclass(frozen=True)
class GivenNest(Mapper):
    """Answers with the nest of a file.

    Attributes:
        path: A mapping file of Timeloop.
        names: Levels of the file to those of the machine, as pairs, where they differ.
    """

    path: Path
    name: str = "imported"
    names: tuple[tuple[str, str], ...] = ()

    def find(self, problem: MappingProblem) -> MappingResult:
        """Return the nest with its value; nothing is proven of it.

        Raises:
            InputError: The file cannot be read, or its nest is none of the workload.
            InfeasibleError: It does not fit the machine.
        """
        try:
            text = self.path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "no text"
            raise InputError(f"cannot read {self.path}: {reason}") from error
        try:
            nest = read_mapping(text, problem.workload, problem.arch, dict(self.names))
        except (ParseError, IndexError) as error:
            reason = error.message if isinstance(error, ParseError) else "a directive is incomplete"
            raise InputError(f"{self.path}: {reason}", hint=_levels(problem)) from error
        try:
            problem.check(nest)
        except VerifyError as error:
            raise InputError(f"{self.path}: no nest of this layer: {error.message}") from error
        return MappingResult(
            nest=nest,
            mapper=self.name,
            status=MappingStatus.HEURISTIC,
            objective=problem.value(nest),
        )


def parse_names(text: str | None) -> tuple[tuple[str, str], ...]:
    """Return level names written as ``Registers=reg GlobalBuffer=gb``.

    Raises:
        OptionError: A word is not of the form.
    """
    found: dict[str, str] = {}
    for word in (text or "").split():
        name, _, ours = word.partition("=")
        if not (name and ours) or name in found:
            raise OptionError(
                f"--rename: cannot read {word!r}", hint='write "Registers=reg GlobalBuffer=gb"'
            )
        found[name] = ours
    return tuple(found.items())


def _levels(problem: MappingProblem) -> str:
    names = ", ".join(level.name for level in problem.arch.levels)
    return f"levels of {problem.arch.name}: {names}; --rename gives those of a file other names"
