"""What is counted of the tiles of a nest is what cutting it makes, whatever its loops."""

from itertools import groupby

from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from accnn.backend.load import load_architecture
from accnn.ir.errors import InfeasibleError
from accnn.ir.isa.spaces import accumulator_level
from accnn.ir.mapping import Loop, even_nest
from accnn.ir.ops import workload
from accnn.ir.workload import Dim
from accnn.passes.analysis.batches.nest_batch import batch_nests
from accnn.passes.analysis.batches.tile_batch import TileBatch
from accnn.passes.tiling.mac import tile_mac
from accnn.passes.tiling.residency import Residency
from tests.networks import NetworkBuilder

STREAMED = Residency(addresses={}, workspace_address=0, workspace_bytes=1 << 20)
FACTORS = [Dim.P, Dim.P, Dim.Q, Dim.C, Dim.C, Dim.K]


def convolution():
    net = NetworkBuilder()
    net.conv(net.input("x", (1, 8, 8, 8)), "y", 16, 3)
    return net.build("y")


GRAPH = convolution()


@settings(max_examples=40, deadline=None, derandomize=True, phases=[Phase.generate])
@given(
    st.sampled_from(["edge-1m", "simba", "eyeriss"]),
    st.permutations(FACTORS),
    st.lists(st.integers(0, 3), min_size=len(FACTORS), max_size=len(FACTORS)),
)
def test_operations_and_accumulations_are_those_of_the_tiles(name, factors, levels):
    arch = load_architecture(name)
    work = workload(GRAPH.ops[0], GRAPH.types)
    temporal = {level.name: [] for level in arch.levels}
    last = arch.index(accumulator_level(arch))
    for dim, at in zip(factors, levels, strict=True):
        temporal[arch.levels[min(at, last)].name].append(Loop(dim, 2))
    rest = {Dim.P: 2, Dim.Q: 4, Dim.C: 2, Dim.K: 8, Dim.R: 3, Dim.S: 3}
    temporal[arch.levels[last].name] += [Loop(dim, extent) for dim, extent in rest.items()]
    nest = even_nest(work, arch, temporal, [])

    try:
        tiles = tile_mac(GRAPH, GRAPH.ops[0], nest, arch, STREAMED)
    except InfeasibleError:
        assume(False)
    found = TileBatch(batch_nests([nest]), arch, frozenset())

    assert found.operations[0] == sum(op.accumulates for op in tiles.ops)
    assert found.accumulations[0] == sum(tiles.finishes(op) for op in tiles.ops)
    home = {tiles.sums_of(op): op.out for op in tiles.ops if tiles.finishes(op)}
    turns = [at for at, _ in groupby(home[op.out] for op in tiles.ops if op.accumulates)]
    assert found._spills_sums[0] == (len(turns) > len(set(turns)))
