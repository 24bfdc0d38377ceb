"""What sliding windows share, against a walk over the elements of all tiles."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.backend.load import load_architecture
from accnn.ir.mapping import Loop, even_nest
from accnn.ir.workload import DIMS, Dim, Operand, Workload
from accnn.passes.analysis.sliding import fetched_in_tiles
from tests.thinned import examples

from ...nest_strategies import architectures, nests


def loops_outside(nest, arch, chain):
    """Return (dimension, extent, whether in time) of all loops outside of the last of some tiles.

    Outermost first: the temporal loops of a memory, then what is unrolled beneath it.
    """
    found = []
    for outer, inner in itertools.pairwise(chain):
        between = range(arch.index(outer[0]), arch.index(inner[0]))
        found += [(loop.dim, loop.extent, True) for loop in nest.temporal[outer[1] : inner[1]]]
        found += [
            (loop.dim, loop.extent, False)
            for loop in nest.spatial
            if arch.index(arch.fanout(loop.fanout).below) in between
        ]
    return found


def walked(nest, arch, chain):
    """Return how many elements the last memory of a chain fetches, tile by tile."""
    level, start = chain[-1]
    tile = dict.fromkeys(DIMS, 1)
    for loop in nest.temporal[start:]:
        tile[loop.dim] *= loop.extent
    for loop in nest.spatial:
        if arch.index(arch.fanout(loop.fanout).below) >= arch.index(level):
            tile[loop.dim] *= loop.extent
    loops, reach, steps = loops_outside(nest, arch, chain), dict(tile), []
    for dim, extent, _ in reversed(loops):
        steps.insert(0, reach[dim])
        reach[dim] *= extent
    fetched, before = 0, set()
    for turn in itertools.product(*(range(n if timed else 1) for _, n, timed in loops)):
        first = dict.fromkeys(DIMS, 0)
        for at, step, (dim, *_) in zip(turn, steps, loops, strict=True):
            first[dim] += at * step
        now = touched(nest.workload, first, tile)
        fetched += len(now - before)
        before = now
    return fetched


def touched(work, first, tile):
    """Return the elements of the input that a tile touches, as coordinates."""
    lines = [
        {
            (first[out] + p) * work.stride[axis] + (first[tap] + r) * work.dilation[axis]
            for p in range(tile[out])
            for r in range(tile[tap])
        }
        for axis, (out, tap) in enumerate(((Dim.P, Dim.R), (Dim.Q, Dim.S)))
    ]
    plain = [range(first[dim], first[dim] + tile[dim]) for dim in (Dim.C, Dim.N, Dim.G)]
    return set(itertools.product(*lines, *plain))


ON_MACHINES = architectures().flatmap(lambda arch: st.tuples(st.just(arch), nests(arch, limit=200)))


@settings(max_examples=examples(60), deadline=None)
@given(ON_MACHINES, st.booleans())
def test_every_memory_fetches_what_its_tile_before_did_not_have(case, is_placed):
    check(*case, is_placed)


def check(arch, nest, is_placed):
    placed = frozenset({Operand.I}) if is_placed else frozenset()
    chain = [(item.level, item.start) for item in nest.of(Operand.I)]
    if is_placed:
        inside = [item for item in chain if arch.index(item[0]) > arch.index("gb")]
        chain = [("gb", 0), *inside]

    found = fetched_in_tiles(nest, arch, placed)

    assert found == {at: walked(nest, arch, chain[: at + 2]) for at in range(len(chain) - 1)}


@pytest.mark.parametrize("is_placed", [False, True])
def test_windows_that_overlap_are_fetched_once(is_placed):
    """The outer loop over rows goes on where the inner one has ended."""
    arch = load_architecture("simba")
    inside = [Loop(Dim.Q, 4), Loop(Dim.R, 3), Loop(Dim.S, 3), Loop(Dim.C, 2)]
    loops = {"dram": [Loop(Dim.P, 2)], "gb": [Loop(Dim.P, 3)], "ib": inside}
    work = Workload(R=3, S=3, P=6, Q=4, C=2)
    temporal = {level.name: loops.get(level.name, []) for level in arch.levels}

    check(arch, even_nest(work, arch, temporal, []), is_placed)
