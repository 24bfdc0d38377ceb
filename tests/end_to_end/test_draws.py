"""Random networks on random machines in random ways: right, or infeasible with a reason."""

import pytest

from .draws import Draw, Verdict

SEED, COUNT, PARTS = 20, 64, 4
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
        *(range(part, COUNT, PARTS) for part in range(PARTS)),
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


@pytest.mark.parametrize(
    ("seed", "number", "own"),
    [
        *((2026, number, 0.0) for number in (855, 1061, 1436, 7296, 9309)),
        (80001, 114, 0.5),
        (80001, 251, 0.5),
        (80002, 347, 0.5),
    ],
)
def test_what_once_failed_is_right(seed: int, number: int, own: float):
    """A bound above what is moved, twice; a vector read as rows; a tile fetched twice at once; an
    average that is a tie, of which onnxruntime makes either integer. Of machines of their own:
    sums that pass through a memory which holds finished results only; sums that pass through one
    that weights with addresses lie in.
    """
    outcome = Draw(seed, number, own=own).run()

    assert outcome.verdict is Verdict.RIGHT, outcome.message
