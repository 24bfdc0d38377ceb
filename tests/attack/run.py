"""One batch of an attack, and a run over all targets that gives each the same time."""

import time
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded

from tests.attack.targets import Target

_QUIET = settings(
    deadline=None,
    database=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
    report_multiple_bugs=False,
)


@dataclass(frozen=True, slots=True)
class Batch:
    """What became of the cases of one seed.

    Attributes:
        target: Name of what was attacked.
        seed: Of the batch.
        cases: How many were tried, those of shrinking included.
        seconds: How long it took [s].
        failure: How something was beaten, in the smallest case found; ``None`` where nothing was.
    """

    target: str
    seed: int
    cases: int
    seconds: float
    failure: str | None


def attack(name: str, target: Target, seed: int) -> Batch:
    """Try a batch of cases; the same seed draws the same ones.

    Args:
        name: Of the target.
        target: What is attacked.
        seed: Of the batch.
    """
    cases = 0

    @seeded(seed)
    @settings(_QUIET, max_examples=target.batch)
    @given(target.cases)
    def attempt(case: tuple[object, ...]) -> None:
        nonlocal cases
        cases += 1
        target.check(*case)

    started, failure = time.monotonic(), None
    try:
        attempt()
    except Exception:  # whatever a case ends in is kept: a crash is no proof either
        failure = traceback.format_exc()
    return Batch(name, seed, cases, time.monotonic() - started, failure)


def attacks(targets: Mapping[str, Target], seconds: float, first: int) -> Iterator[Batch]:
    """Yield batches until the time is over; whoever had least of it is next.

    Args:
        targets: What is attacked, by name.
        seconds: How long [s]; the batch that is under way then is finished, and each target has
            at least one.
        first: Seed of the first batch of each target.
    """
    spent, seeds = dict.fromkeys(targets, 0.0), dict.fromkeys(targets, first)
    started = time.monotonic()
    while time.monotonic() - started < seconds or 0.0 in spent.values():
        name = min(spent, key=spent.__getitem__)
        batch = attack(name, targets[name], seeds[name])
        spent[name] += batch.seconds
        seeds[name] += 1
        yield batch
