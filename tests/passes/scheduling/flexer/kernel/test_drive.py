"""Signals that come while a schedule is made."""

import signal

import numpy as np
import pytest

from accnn.passes.scheduling.flexer.kernel.arrays import Choice, TilingArrays
from accnn.passes.scheduling.flexer.kernel.drive import schedule_freely, schedule_in_order
from tests.passes.scheduling.flexer.plain import random_tiling
from tests.passes.scheduling.flexer.test_against_plain import ENDLESS


class Stopped(BaseException):
    """What the signal asks for."""


def repeated(times: int) -> TilingArrays:
    """Return a tiling whose operations are done again and again."""
    p = random_tiling(7)
    names = ("reads", "latency", "adding", "fill", "drain")
    return p._replace(**{name: np.repeat(getattr(p, name), times, axis=0) for name in names})


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers")
@pytest.mark.parametrize("after", [0.002, 0.01, 0.02, 0.03])
@pytest.mark.parametrize("is_free", [False, True])
def test_what_a_signal_asks_for_is_raised_when_compiled_code_has_ended(is_free: bool, after: float):
    """Whether it comes while a schedule is begun or made."""

    def stop(*_: object) -> None:
        raise Stopped

    def schedule(p: TilingArrays) -> None:
        if is_free:
            schedule_freely(p, Choice(0, 0, 3, 6, 4), ENDLESS)
        else:
            order = np.arange(len(p.reads))
            schedule_in_order(p, order, np.ones_like(order), 0, ENDLESS, False)

    schedule(repeated(1))  # compiles
    before = signal.signal(signal.SIGPROF, stop)
    try:
        with pytest.raises(Stopped):
            signal.setitimer(signal.ITIMER_PROF, after)
            schedule(repeated(1_200 if is_free else 100_000))
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
