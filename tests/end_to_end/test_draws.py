"""Random networks on random machines in random ways: right, or infeasible with a reason."""

import pytest

from .draws import Draw, Verdict

SEED, COUNT, PARTS = 20, 200, 8
MAPPERS = ("cosa", "loma", "random", "random-pruned", "salsa")
"""Those that take no seconds for small workloads."""
MOST_INFEASIBLE = 0.3


@pytest.fixture(scope="module")
def verdicts() -> list[Verdict]:
    """Collect how compilations ended."""
    return []


@pytest.mark.parametrize("part", range(PARTS))
def test_programs_are_right(part: int, verdicts: list[Verdict]):
    for number in range(part, COUNT, PARTS):
        draw = Draw(SEED, number, steps=3, mappers=MAPPERS)
        outcome = draw.run()
        verdicts.append(outcome.verdict)
        assert not outcome.is_failure, f"{draw}: {draw.command}\n{outcome.message}"
    infeasible = verdicts.count(Verdict.INFEASIBLE)
    assert infeasible <= MOST_INFEASIBLE * len(verdicts), f"{infeasible} of {len(verdicts)}"
