"""Gaps of engines and of transfers, against lists of cycles."""

from dataclasses import replace
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.backend.load import load_architecture
from accnn.ir.arch import Architecture
from accnn.ir.tiles.events import EventKind
from tests.passes.scheduling.across.plain.engines import Engine, Engines
from tests.thinned import examples

JOBS = st.lists(st.tuples(st.integers(0, 20), st.integers(1, 4), st.booleans()), max_size=40)


@settings(max_examples=examples(300), deadline=None)
@given(jobs=JOBS)
def test_work_goes_into_the_first_gap_that_is_long_enough(jobs: list[tuple[int, int, bool]]):
    engine, busy = Engine(), [False] * 400

    for ready, cycles, is_done in jobs:
        first = next(start for start in range(ready, 400) if not any(busy[start : start + cycles]))
        assert engine.first_gap(ready, cycles) == first
        if not is_done:
            continue
        engine.occupy(first, cycles)
        busy[first : first + cycles] = [True] * cycles

    spans = list(zip(engine.starts, engine.ends, strict=True))
    assert all(before[1] < after[0] for before, after in pairwise(spans))
    assert sum(end - start for start, end in spans) == sum(busy)


def machine(*, startup: int, channels: int, is_shared: bool) -> Architecture:
    arch = load_architecture("flexer-arch5")
    dma = replace(arch.dma, startup=startup, channels=channels)
    outer = replace(arch.off_chip, shared_port=is_shared)
    return replace(arch, dma=dma, levels=(outer, *arch.levels[1:]))


TRANSFERS = st.lists(
    st.tuples(
        st.sampled_from((EventKind.LOAD, EventKind.STORE)),
        st.integers(0, 20),
        st.integers(1, 4),
        st.booleans(),
    ),
    max_size=40,
)


@settings(max_examples=examples(300), deadline=None)
@given(
    transfers=TRANSFERS,
    startup=st.integers(0, 2),
    channels=st.integers(1, 3),
    is_shared=st.booleans(),
)
def test_transfers_go_where_channel_and_port_are_idle_first(
    transfers: list[tuple[EventKind, int, int, bool]], startup: int, channels: int, is_shared: bool
):
    engines = Engines(machine(startup=startup, channels=channels, is_shared=is_shared))
    busy = [[False] * 400 for _ in range(channels)]
    ports = {True: [False] * 400, False: [False] * 400}

    for kind, ready, moving, is_done in transfers:
        port, cycles = ports[kind is EventKind.LOAD and not is_shared], startup + moving
        first = min(
            (start, channel)
            for channel in range(channels)
            for start in range(ready, 390)
            if not any(busy[channel][start : start + cycles])
            and not any(port[start + startup : start + cycles])
        )
        assert engines.transfer_gap(kind, cycles, ready) == first
        if not is_done:
            continue
        assert engines.transfer(kind, cycles, ready) == first
        start, channel = first
        busy[channel][start : start + cycles] = [True] * cycles
        port[start + startup : start + cycles] = [True] * moving
