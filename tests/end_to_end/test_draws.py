"""Random networks on random machines in random ways: right, or infeasible with a reason."""

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest

from accnn.ir.errors import VerifyError
from accnn.ir.report import OperatorReport, Totals
from tests.ir.test_report import MINIMAL
from tests.thinned import thinned

from .draws import Draw, Verdict, check_bounds

SEED, COUNT, PARTS = 20, 32, 8
MORE = 400
MAPPERS = ("cosa", "loma", "random", "random-pruned", "salsa")
"""Those that take no seconds for small workloads."""
MOST_INFEASIBLE = 0.3


@pytest.fixture(scope="module")
def verdicts() -> list[Verdict]:
    """Collect how compilations ended."""
    return []


@pytest.mark.parametrize(
    "numbers",
    [
        *thinned([range(part, COUNT, PARTS) for part in range(PARTS)], one_in=PARTS),
        pytest.param(range(COUNT, MORE), marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_programs_are_right(numbers: range, verdicts: list[Verdict]):
    for number in numbers:
        draw = Draw(SEED, number, steps=3, mappers=MAPPERS)
        outcome = draw.run()
        verdicts.append(outcome.verdict)
        assert not outcome.is_failure, f"{draw}: {draw.command}\n{outcome.message}"
    infeasible = verdicts.count(Verdict.INFEASIBLE)
    assert infeasible <= MOST_INFEASIBLE * len(verdicts), f"{infeasible} of {len(verdicts)}"


@pytest.mark.parametrize("number", [*thinned([855, 1061, 1436, 7296, 9309], one_in=3)])
def test_what_once_failed_is_right(number: int):
    """A bound above what is moved, twice; a vector read as rows; a tile fetched twice at once; an
    average that is a tie, of which onnxruntime makes either integer.
    """
    outcome = Draw(2026, number, own=0.0, any=0.0).run()

    assert outcome.verdict is Verdict.RIGHT, outcome.message


TOTALS = Totals(macs=1, cycles_simulated=9, cycles_lower_bound=9, offchip_bytes=8)
TOO_FAST = OperatorReport(name="c", kind="conv2d", cycles=3, cycles_lower_bound=4)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({}, None),
        ({"totals": replace(TOTALS, offchip_bytes_compulsory=8)}, None),
        ({"totals": replace(TOTALS, cycles_lower_bound=10)}, "9 cycles, but the lower bound is 10"),
        ({"totals": replace(TOTALS, offchip_bytes_compulsory=9)}, "8 off-chip bytes, but .* is 9"),
        ({"operators": (TOO_FAST,)}, "3 cycles of c, but the lower bound is 4"),
    ],
)
def test_less_than_a_lower_bound_is_a_failure(changed: dict[str, Any], message: str | None):
    report = replace(MINIMAL, **{"totals": TOTALS, **changed})

    refused = nullcontext() if message is None else pytest.raises(VerifyError, match=message)

    with refused:
        check_bounds(report)
