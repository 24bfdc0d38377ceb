"""Two reports side by side: what operators and the whole network take in each."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...ir.report import OperatorReport, Report
from .operator_table import QUANTISED, labels


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """Whose figures they are: the files of network and machine, without their folders."""

    model: str
    arch: str


@dataclass(frozen=True, slots=True)
class ComparedFigure:
    """One figure in both runs.

    Attributes:
        first: Of the first run; ``None`` where it is unknown.
        second: Of the second run.
        ratio: Second over first; ``None`` where one is unknown or the first is zero.
    """

    first: float | None
    second: float | None
    ratio: float | None

    @property
    def difference(self) -> float:
        """How far both are apart; what is unknown counts as nothing."""
        return abs((self.second or 0.0) - (self.first or 0.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedOperators:
    """The same operators in both runs, summed where one run has several steps for them.

    Attributes:
        called: What the longest of the first run's steps (the second's, where it has none) is
            called for people.
        operators: Names of the steps, of either run; those of a group are joined with it.
        in_first: How many steps the first run has for them.
        in_second: How many the second has.
        cycles: From first to last work of each step, simulated, else predicted [cycle].
        energy_pj: Energy [pJ].
        offchip_bytes: To and from off-chip memory [byte].
    """

    called: str
    operators: tuple[str, ...]
    in_first: int
    in_second: int
    cycles: ComparedFigure
    energy_pj: ComparedFigure
    offchip_bytes: ComparedFigure


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two runs side by side.

    Attributes:
        first: The first run.
        second: The second run.
        same_model: Whether they are of the same network, byte for byte.
        cycles: Of the whole network, simulated, else predicted [cycle].
        energy_pj: Of the whole network [pJ].
        offchip_bytes: Of the whole network [byte].
        operators: In the first run's order of execution, then those that only the second has.
    """

    first: ComparedRun
    second: ComparedRun
    same_model: bool
    cycles: ComparedFigure
    energy_pj: ComparedFigure
    offchip_bytes: ComparedFigure
    operators: tuple[ComparedOperators, ...]

    @property
    def note(self) -> str:
        """What else to know; empty for nothing."""
        if self.same_model:
            return ""
        return "The networks are not the same file; operators are compared by name."


@dataclass(frozen=True, slots=True)
class _Bundle:
    """Steps of both runs that have operators in common."""

    first: tuple[OperatorReport, ...]
    second: tuple[OperatorReport, ...]


def compare(first: Report, second: Report) -> Comparison:
    """Return two reports side by side; operators are the same where their names are.

    What the quantiser appends to names does not count.
    """
    one, other = first.totals, second.totals
    called = labels(first.operators), labels(second.operators)
    bundles = _bundles(first.operators, second.operators)
    return Comparison(
        first=ComparedRun(first.model.name, first.arch.name),
        second=ComparedRun(second.model.name, second.arch.name),
        same_model=first.model.sha256 == second.model.sha256,
        cycles=_figure(_total_cycles(first), _total_cycles(second)),
        energy_pj=_figure(one.energy_pj, other.energy_pj),
        offchip_bytes=_figure(one.offchip_bytes, other.offchip_bytes),
        operators=tuple(_compared(bundle, called) for bundle in bundles),
    )


def _total_cycles(report: Report) -> int | None:
    simulated = report.totals.cycles_simulated
    return report.totals.cycles_model if simulated is None else simulated


def _bundles(
    first: Sequence[OperatorReport], second: Sequence[OperatorReport]
) -> tuple[_Bundle, ...]:
    """Return the steps of both runs, those together that execute a common operator."""
    above: dict[str, str] = {}
    for step in (*first, *second):
        head, *others = _members(step)
        for name in others:
            above[_top(above, name)] = _top(above, head)

    def own(steps: Sequence[OperatorReport]) -> dict[str, list[OperatorReport]]:
        found: dict[str, list[OperatorReport]] = {}
        for step in steps:
            found.setdefault(_top(above, _members(step)[0]), []).append(step)
        return found

    ones, others = own(first), own(second)
    return tuple(
        _Bundle(tuple(ones.get(name, ())), tuple(others.get(name, ())))
        for name in dict.fromkeys((*ones, *others))
    )


def _members(step: OperatorReport) -> tuple[str, ...]:
    return tuple(name.removesuffix(QUANTISED) for name in step.members or (step.name,))


def _top(above: dict[str, str], name: str) -> str:
    """Return the name that stands for all names that were joined with this one."""
    while above.setdefault(name, name) != name:
        name = above[name]
    return name


def _compared(
    bundle: _Bundle, called: tuple[Mapping[str, str], Mapping[str, str]]
) -> ComparedOperators:
    first, second = bundle.first, bundle.second
    known, shown = (first, called[0]) if first else (second, called[1])
    steps = (*first, *second)
    names = (step.name.removesuffix(QUANTISED) for step in steps)
    return ComparedOperators(
        called=shown[_longest(known).name],
        operators=tuple(dict.fromkeys(names)),
        in_first=len(first),
        in_second=len(second),
        cycles=_figure(_sum(map(_cycles, first)), _sum(map(_cycles, second))),
        energy_pj=_figure(
            _sum(step.energy_pj for step in first), _sum(step.energy_pj for step in second)
        ),
        offchip_bytes=_figure(
            _sum(step.offchip_bytes for step in first), _sum(step.offchip_bytes for step in second)
        ),
    )


def _longest(steps: Sequence[OperatorReport]) -> OperatorReport:
    """Return the step by which readers know a bundle; the last of those that take as long."""
    return max(reversed(steps), key=lambda step: _cycles(step) or 0)


def _cycles(step: OperatorReport) -> int | None:
    return step.cycles_predicted if step.cycles_simulated is None else step.cycles_simulated


def _sum(values: Iterable[float | None]) -> float | None:
    """Return a sum; ``None`` where a value is unknown, or there is none."""
    found = list(values)
    known = [value for value in found if value is not None]
    return sum(known) if found and len(known) == len(found) else None


def _figure(first: float | None, second: float | None) -> ComparedFigure:
    ratio = second / first if first and second is not None else None
    return ComparedFigure(first, second, ratio)
