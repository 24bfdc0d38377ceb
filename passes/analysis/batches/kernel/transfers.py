"""How often tiles come and go off chip, and how large they are, nest by nest; see ``tile_batch``.

Two *ways* are looked at: capacity is first left to the weights, or first to the inputs.
"""

# pyright: reportArgumentType=false, reportReturnType=false, reportUnknownArgumentType=false

from typing import NamedTuple

import numpy as np

from .....ir.compiled import entry, inner
from .cutting import Cuts
from .moving import Bools, Ints, Shapes, TemporalLoops, elements_of
from .turning import behind, changes, steps, values

_W, _I, _O = range(3)


class TileCapacities(NamedTuple):
    """What tiles may take on chip.

    Attributes:
        npus: Number of NPUs.
        streamed: Whether tiles of W, I and O come and go; others lie whole in the scratchpad
            ``[3]``.
        capacity: Of the weights' memory and of the scratchpad, of all NPUs together [byte]
            ``[2]``.
        are_one: Whether these are one memory.
        instances: Of the weights' memory; 1 where that is the scratchpad.
        kept_weights: What weights may take from stripe to stripe [byte]; -1: there are no stripes.
        parameters: Tensors of parameters.
        parameter_dims: Whether other parameters come where a dimension changes ``[8]``.
    """

    npus: int
    streamed: Bools
    capacity: Ints
    are_one: bool
    instances: int
    kept_weights: int
    parameters: int
    parameter_dims: Bools


class Sizes(NamedTuple):
    """What makes tiles large.

    Attributes:
        shapes: Of the tiles of W, I and O.
        bits: Of an element of W, I and O, and of a sum ``[4]``.
        everywhere: Extents unrolled over all fan-outs ``[U, 8]``.
        weights: Extents unrolled in one instance of the weights' memory ``[U, 8]``.
        sums: Extents unrolled in one instance of the sums' memory ``[U, 8]``.
    """

    shapes: Shapes
    bits: Ints
    everywhere: Ints
    weights: Ints
    sums: Ints


class TileTransfers(NamedTuple):
    """What comes and goes for ``B`` nests.

    Attributes:
        bytes: Of a tile of W, I and O in its home ``[3, B]``.
        sums: Bytes of a tile of accumulators in one instance of their memory ``[B]``.
        weights: Bytes of their memory that all weights take ``[B]``.
        modelled: How often the cost model has tiles of W and I come ``[2, B]``.
        loads: How often they do come, either way ``[2, 2, B]``; see above.
        outputs: How many tiles of outputs there are ``[B]``.
        parameters: How often tensors of parameters come ``[B]``.
    """

    bytes: Ints
    sums: Ints
    weights: Ints
    modelled: Ints
    loads: Ints
    outputs: Ints
    parameters: Ints


@entry
def fill_transfers(
    loops: TemporalLoops, cuts: Cuts, capacities: TileCapacities, sizes: Sizes, found: TileTransfers
) -> None:
    """Fill in what comes and goes.

    Args:
        loops: The nests.
        cuts: Where they are cut.
        capacities: What tiles may take.
        sizes: What makes tiles large.
        found: Filled in.
    """
    relevant = sizes.shapes.relevant
    inside, spare = np.ones(8, np.int64), np.empty(2, np.int64)
    taken = np.empty((3, loops.dims.shape[1] + 1), np.int64)
    for b in range(len(loops.dims)):
        _fill_taken(loops, b, cuts, capacities, sizes, inside, taken)
        for operand in range(3):
            home = cuts.home[operand, b]
            found.bytes[operand, b] = taken[operand, home]
            if operand == _W and not capacities.are_one:
                found.bytes[_W, b] = _bytes(loops, b, sizes, _W, home, inside)
            if operand != _O:
                found.modelled[operand, b] = changes(loops, b, relevant[operand], home)
        _unroll(loops, b, sizes.sums, inside)
        _add_loops(loops, b, cuts.accumulators[b], loops.dims.shape[1], inside)
        found.sums[b] = _whole_bytes(elements_of(sizes.shapes, _O, inside), sizes.bits[3])
        found.weights[b] = taken[_W, 0]
        found.outputs[b] = values(loops, b, relevant[_O], cuts.home[_O, b])
        ends = cuts.accumulators[b] if cuts.is_inside[b] else cuts.boundary[b]
        times = changes(loops, b, capacities.parameter_dims, ends)
        found.parameters[b] = capacities.parameters * times
        for way in range(2):
            if way == 1 and not capacities.are_one:  # what one leaves is not the other's
                for operand in range(2):
                    found.loads[1, operand, b] = found.loads[0, operand, b]
                continue
            _fill_spare(b, cuts, capacities, taken, spare)
            for turn in range(2):
                operand = turn if way == 0 else 1 - turn
                times = _loads(loops, b, cuts, capacities, relevant[operand], operand, taken, spare)
                found.loads[way, operand, b] = times


@inner
def _loads(
    loops: TemporalLoops,
    b: int,
    cuts: Cuts,
    capacities: TileCapacities,
    relevant: Bools,
    operand: int,
    taken: Ints,
    spare: Ints,
) -> int:
    """Return how often tiles are loaded, and take what remains from what is to spare.

    Inside of the outermost loop from which on all of them remain, they come once. Weights of
    stripes come not at all where all of them remain.
    """
    home = cuts.home[operand, b]
    if operand == _W and capacities.kept_weights >= 0:
        remain = taken[_W, 0] <= capacities.kept_weights
        return 0 if remain else _loads_within(loops, b, cuts, capacities, relevant, home, home)
    if not capacities.streamed[operand]:
        return 0
    memory = 1 if operand == _I or capacities.are_one else 0
    own = (capacities.npus + 1) * taken[operand, home]
    kept = home
    for at in range(home - 1, -1, -1):
        if taken[operand, at] <= spare[memory] + own:
            kept = at
    spare[memory] -= max(0, taken[operand, kept] - own)
    return _loads_within(loops, b, cuts, capacities, relevant, home, kept)


@inner
def _loads_within(
    loops: TemporalLoops,
    b: int,
    cuts: Cuts,
    capacities: TileCapacities,
    relevant: Bools,
    home: int,
    kept: int,
) -> int:
    """Return how often a tile is loaded if those inside of a loop remain.

    Accumulations that follow each other are dealt out to NPUs. Where loops just outside of them
    leave an operand as it is, all that run at a time go through the same tiles of it. What loops
    further out would let some of them share is left out: searches that saw it ended earlier.
    """
    within = values(loops, b, relevant, home) // values(loops, b, relevant, kept)
    outer, inside = behind(loops, b, relevant, kept), cuts.accumulators[b]
    found = steps(loops, b, outer) * within
    if capacities.npus > 1 and cuts.is_inside[b] and outer > inside:
        alike = steps(loops, b, inside) // changes(loops, b, relevant, inside)
        found = found * -(-alike // capacities.npus) // alike
    return found


@inner
def _fill_spare(b: int, cuts: Cuts, capacities: TileCapacities, taken: Ints, spare: Ints) -> None:
    """Fill in what tiles in flight leave of memories: one in use per NPU, and the next."""
    spare[0], spare[1] = capacities.capacity[0], capacities.capacity[1]
    for operand in range(3):
        if capacities.streamed[operand]:
            memory = 0 if operand == _W and not capacities.are_one else 1
            spare[memory] -= (capacities.npus + 1) * taken[operand, cuts.home[operand, b]]


@inner
def _fill_taken(
    loops: TemporalLoops,
    b: int,
    cuts: Cuts,
    capacities: TileCapacities,
    sizes: Sizes,
    inside: Ints,
    taken: Ints,
) -> None:
    """Fill in the bytes of its memory that a tile takes, from each loop on as far as its home.

    In a memory of the array it takes its largest part in every instance. Of outputs only what the
    tile in the home takes is asked for.
    """
    for operand in range(3):
        home = cuts.home[operand, b]
        _unroll(loops, b, sizes.weights if operand == _W else sizes.everywhere, inside)
        _add_loops(loops, b, home, loops.dims.shape[1], inside)
        for at in range(home, home - 1 if operand == _O else -1, -1):
            if at < home:
                _add_loops(loops, b, at, at + 1, inside)
            size = _whole_bytes(elements_of(sizes.shapes, operand, inside), sizes.bits[operand])
            taken[operand, at] = size * capacities.instances if operand == _W else size


@inner
def _bytes(
    loops: TemporalLoops, b: int, sizes: Sizes, operand: int, start: int, inside: Ints
) -> int:
    """Return the bytes of a tile that starts at a loop."""
    _unroll(loops, b, sizes.everywhere, inside)
    _add_loops(loops, b, start, loops.dims.shape[1], inside)
    return _whole_bytes(elements_of(sizes.shapes, operand, inside), sizes.bits[operand])


@inner
def _unroll(loops: TemporalLoops, b: int, unrolled: Ints, inside: Ints) -> None:
    """Begin a tile with what is unrolled."""
    for d in range(8):
        inside[d] = unrolled[loops.which[b], d]


@inner
def _add_loops(loops: TemporalLoops, b: int, first: int, end: int, inside: Ints) -> None:
    """Add loops to a tile."""
    for at in range(first, end):
        inside[loops.dims[b, at]] *= loops.extents[b, at]


@inner
def _whole_bytes(elements: int, bits: int) -> int:
    return -(-elements * bits // 8)
