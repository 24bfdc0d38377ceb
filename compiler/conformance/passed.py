"""The list of cases that have passed: text, one line of cases for each operator."""

from collections.abc import Iterable
from pathlib import Path

from ...ir.errors import OptionError
from .judge import CaseOutcome


def passed_text(outcomes: Iterable[CaseOutcome]) -> str:
    """Return the list: ``Operator: test_a test_b``, sorted."""
    cases: dict[str, list[str]] = {}
    for item in outcomes:
        if item.status.passed:
            cases.setdefault(item.operator, []).append(item.case)
    return "".join(f"{name}: {' '.join(sorted(cases[name]))}\n" for name in sorted(cases))


def read_passed(path: Path) -> dict[str, tuple[str, ...]]:
    """Return the cases of a list by operator.

    Raises:
        OptionError: The file does not exist, or a line is not of the form.
    """
    if not path.is_file():
        raise OptionError(f"{path}: no such file")
    found: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        operator, colon, cases = line.partition(":")
        if not colon or not cases.split():
            raise OptionError(f"{path}:{number}: not 'Operator: case case ...'")
        found[operator] = tuple(cases.split())
    return found


def no_longer_passed(
    outcomes: Iterable[CaseOutcome], listed: Iterable[str]
) -> tuple[CaseOutcome, ...]:
    """Return the cases of a list that were judged and did not pass."""
    names = frozenset(listed)
    return tuple(item for item in outcomes if item.case in names and not item.status.passed)
