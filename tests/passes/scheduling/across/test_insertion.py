"""Parts of an operator are dealt to the NPUs that are idle first."""

from dataclasses import replace

from accnn.backend.load import load_architecture
from accnn.ir.isa.instructions import Unit
from accnn.passes.scheduling.across.insertion import dealt
from accnn.passes.scheduling.engine.engines import Engines
from accnn.passes.scheduling.timing.work_bound import are_alike

FOUR = load_architecture("flexer-arch5")


def busy_until(*ends: int) -> Engines:
    engines = Engines(FOUR)
    for npu, end in enumerate(ends):
        engines.work(Unit.MX, npu, end, 0)
    engines.of(Unit.DMA, 0).occupy(0, 1000)
    return engines


def test_most_work_goes_to_the_npu_that_is_idle_first():
    assert dealt((100, 50, 0, 0), busy_until(90, 70, 20, 30)) == (2, 3, 1, 0)


def test_without_need_nothing_changes():
    assert dealt((10, 10, 10), Engines(FOUR)) == (0, 1, 2)


def test_npus_with_other_arrays_are_not_alike():
    slow = replace(FOUR.npus[0], sizes=(("column", 8),))

    assert are_alike(FOUR)
    assert not are_alike(replace(FOUR, npus=(slow, *FOUR.npus[1:])))
