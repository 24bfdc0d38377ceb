"""Where nests are cut, and what comes and goes then, against loops that run step by step."""

import random
from dataclasses import dataclass
from itertools import groupby, product
from math import prod

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from accnn.ir.workload import DIMS, OPERANDS, RELEVANT, Dim, Operand, Workload
from accnn.passes.analysis.batches.kernel.cutting import Cuts, StartColumns, fill_cuts
from accnn.passes.analysis.batches.kernel.transfers import (
    Sizes,
    TileCapacities,
    TileTransfers,
    fill_transfers,
)
from accnn.passes.analysis.batches.nest_batch import columns_of, shapes_of
from tests.thinned import examples

from .test_moving import loops_of, touched

BITS = {Operand.W: 8, Operand.I: 4, Operand.O: 16}
SUM_BITS = 24
PARAMETERS = frozenset({Dim.G, Dim.K})
WORK = Workload(stride=(2, 1))


@dataclass
class Case:
    """A nest, and what it finds on chip."""

    loops: list[tuple[int, int]]
    starts: dict[Operand, list[int]]
    unrolled: tuple[list[int], list[int], list[int]]
    streamed: dict[Operand, bool]
    capacity: tuple[int, int]
    are_one: bool
    instances: int
    npus: int
    kept_weights: int
    with_array: bool

    def keys(self, dims, end: int) -> list[tuple[int, ...]]:
        """Return what loops over dimensions count in each step of all loops outside of one."""
        outer = self.loops[:end]
        return [
            tuple(at for at, (dim, _) in zip(index, outer, strict=True) if DIMS[dim] in dims)
            for index in product(*(range(extent) for _, extent in outer))
        ]

    def changes(self, dims, end: int) -> list[tuple[int, ...]]:
        return [key for key, _ in groupby(self.keys(dims, end))]

    def behind(self, dims, end: int) -> int:
        turning = [
            at
            for at, (dim, extent) in enumerate(self.loops[:end])
            if extent > 1 and DIMS[dim] in dims
        ]
        return turning[-1] + 1 if turning else 0

    def home(self, operand: Operand) -> int:
        return self.starts[operand][1] if self.streamed[operand] else 0

    def comes_back(self, start: int) -> bool:
        turns = self.changes(RELEVANT[Operand.O], start)
        return len(turns) > len(set(turns))

    @property
    def is_inside(self) -> bool:
        return self.with_array and not self.comes_back(self.starts[Operand.O][2])

    @property
    def accumulators(self) -> int:
        return self.behind(RELEVANT[Operand.O], self.starts[Operand.O][-1])

    @property
    def boundary(self) -> int:
        ends = self.accumulators if self.is_inside else self.home(Operand.O)
        return max(self.home(Operand.W), self.home(Operand.I), ends)

    def size(self, operand: Operand, start: int, unrolled: list[int], bits: int) -> int:
        return -(-touched(self.loops[start:], unrolled, operand, WORK) * bits // 8)

    def taken(self, operand: Operand, start: int) -> int:
        everywhere, weights, _ = self.unrolled
        if operand is Operand.W:
            return self.size(operand, start, weights, BITS[operand]) * self.instances
        return self.size(operand, start, everywhere, BITS[operand])

    def loaded(self, operand: Operand, kept: int) -> int:
        """Return how often a tile is loaded if those inside of a loop remain while it stands."""
        count, remain, block = 0, set(), None
        dims, home = RELEVANT[operand], self.home(operand)
        inside = sum(DIMS[dim] in dims for dim, _ in self.loops[:kept])
        for key in self.keys(dims, home):
            if key[:inside] != block:
                remain, block = set(), key[:inside]
            count += key not in remain
            remain.add(key)
        if self.npus > 1 and self.is_inside and self.behind(dims, kept) > self.accumulators:
            steps = prod(extent for _, extent in self.loops[: self.accumulators])
            alike = steps // len(self.changes(dims, self.accumulators))
            count = count * -(-alike // self.npus) // alike
        return count

    def loads(self, order: tuple[Operand, Operand]) -> dict[Operand, int]:
        """Return how often tiles come if capacity is left to one operand after the other."""
        room = {
            operand: "weights" if operand is Operand.W and not self.are_one else "pad"
            for operand in OPERANDS
        }
        spare = dict(zip(("weights", "pad"), self.capacity, strict=True))
        flight = {
            operand: (self.npus + 1) * self.taken(operand, self.home(operand))
            for operand in OPERANDS
        }
        for operand in OPERANDS:
            if self.streamed[operand]:
                spare[room[operand]] -= flight[operand]
        found = dict.fromkeys(order, 0)
        for operand in order:
            home = self.home(operand)
            if operand is Operand.W and self.kept_weights >= 0:
                remain = self.taken(operand, 0) <= self.kept_weights
                found[operand] = 0 if remain else self.loaded(operand, home)
            elif self.streamed[operand]:
                most = spare[room[operand]] + flight[operand]
                fitting = (at for at in range(home) if self.taken(operand, at) <= most)
                kept = next(fitting, home)
                more = self.taken(operand, kept) - flight[operand]
                spare[room[operand]] -= max(0, more)
                found[operand] = self.loaded(operand, kept)
        return found


def case_of(seed: int) -> Case:
    """Return a nest that keeps each operand in three memories, none of them much too large."""
    rng = random.Random(seed)
    dims = [DIMS.index(dim) for dim in (Dim.P, Dim.K, Dim.C, Dim.R, rng.choice(DIMS))]
    loops = [(rng.choice(dims), rng.choice((1, 2, 2, 3))) for _ in range(rng.randint(1, 8))]
    ends = {x: range(0 if x is Operand.O else len(loops) // 2, len(loops) + 1) for x in OPERANDS}
    starts = {operand: [0, *sorted(rng.choices(own, k=2))] for operand, own in ends.items()}
    if rng.random() < 0.5:  # sums are finished one after the other, tiles are of one step each
        loops.sort(key=lambda loop: DIMS[loop[0]] not in RELEVANT[Operand.O])
        outer = sum(DIMS[dim] in RELEVANT[Operand.O] for dim, _ in loops)
        last = len(loops)
        starts = {
            Operand.W: [0, last, last],
            Operand.I: [0, last, last],
            Operand.O: [0, outer, outer],
        }
    unrolled = [[rng.choice((1, 1, 2)) for _ in DIMS] for _ in range(3)]
    are_one = rng.random() < 0.5
    case = Case(
        loops=loops,
        starts=starts,
        unrolled=(unrolled[0], unrolled[0] if are_one else unrolled[1], unrolled[2]),
        streamed={x: rng.random() < 0.8 for x in OPERANDS},
        capacity=(0, 0),
        are_one=are_one,
        instances=1 if are_one else rng.randint(1, 2),
        npus=rng.choice((1, 1, 2, 3)),
        kept_weights=-1,
        with_array=rng.random() < 0.8,
    )
    flight = [(case.npus + 1) * case.taken(x, case.home(x)) for x in OPERANDS]
    wanted = [
        case.taken(x, rng.randint(0, case.home(x))) - flight[OPERANDS.index(x)]
        for x in (Operand.W, rng.choice((Operand.W, Operand.I)) if are_one else Operand.I)
    ]
    if are_one:  # tiles in flight may take more than all of them
        wanted[1] -= rng.randint(0, max(0, flight[0] - case.taken(Operand.W, 0)))
    wanted = [max(0, size) for size in wanted]
    pad = sum(flight[1:]) + wanted[1] + (flight[0] if are_one else 0)
    case.capacity = (pad if are_one else flight[0] + wanted[0], pad)
    if rng.random() < 0.4:
        case.kept_weights = case.taken(Operand.W, 0) + rng.choice((-1, 0))
    return case


CASES = st.integers(0, 10**9).map(case_of)


def cuts_of(case: Case) -> Cuts:
    """Return where a nest is cut, by compiled code."""
    kinds = (np.int64, np.int64, np.bool_, np.bool_, np.int64, np.int64)
    found = Cuts(np.zeros((3, 1), np.int64), *(np.zeros(1, kind) for kind in kinds))
    columns = StartColumns(
        tuple(1 if case.streamed[x] else -1 for x in OPERANDS), 2 * case.with_array or -1
    )
    starts = tuple(np.array([case.starts[x]], np.int64) for x in OPERANDS)
    fill_cuts(loops_of(case.loops), columns_of(RELEVANT[Operand.O]), columns, starts, found)
    return found


def transfers_of(case: Case) -> TileTransfers:
    """Return what comes and goes, by compiled code."""
    found = TileTransfers(
        np.zeros((3, 1), np.int64),
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
        np.zeros((2, 1), np.int64),
        np.zeros((2, 2, 1), np.int64),
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
    )
    capacities = TileCapacities(
        npus=case.npus,
        streamed=np.array([case.streamed[x] for x in OPERANDS]),
        capacity=np.array(case.capacity, np.int64),
        are_one=case.are_one,
        instances=case.instances,
        kept_weights=case.kept_weights,
        parameters=2,
        parameter_dims=columns_of(PARAMETERS),
    )
    bits = np.array([*BITS.values(), SUM_BITS], np.int64)
    unrolled = (np.array([own], np.int64) for own in case.unrolled)
    sizes = Sizes(shapes_of(WORK, OPERANDS), bits, *unrolled)
    fill_transfers(loops_of(case.loops), cuts_of(case), capacities, sizes, found)
    return found


@settings(max_examples=examples(500), deadline=None)
@given(CASES)
def test_nests_are_cut_where_loops_that_run_change_their_tiles(case):
    found, outputs = cuts_of(case), RELEVANT[Operand.O]

    assert found.home[:, 0].tolist() == [case.home(operand) for operand in OPERANDS]
    assert found.accumulators[0] == case.accumulators
    assert found.boundary[0] == case.boundary
    assert found.is_inside[0] == case.is_inside
    assert found.spills_sums[0] == case.comes_back(case.home(Operand.O))
    assert found.operations[0] == prod(extent for _, extent in case.loops[: case.boundary])
    last = case.starts[Operand.O][-1]
    finished = case.changes(outputs, last), set(case.keys(outputs, case.boundary))
    assert found.accumulations[0] == len(finished[0] if case.is_inside else finished[1])


@settings(max_examples=examples(1000), deadline=None)
@given(CASES)
@example(case_of(128))  # weights in flight take more than all of them: inputs get none of that
def test_tiles_come_as_often_as_loops_that_run_need_them(case):
    found, (everywhere, _, sums) = transfers_of(case), case.unrolled

    assert found.bytes[:, 0].tolist() == [
        case.size(operand, case.home(operand), everywhere, BITS[operand]) for operand in OPERANDS
    ]
    assert found.sums[0] == case.size(Operand.O, case.accumulators, sums, SUM_BITS)
    assert found.weights[0] == case.taken(Operand.W, 0)
    outputs = case.keys(RELEVANT[Operand.O], case.home(Operand.O))
    assert found.outputs[0] == len(set(outputs))
    ends = case.accumulators if case.is_inside else case.boundary
    assert found.parameters[0] == 2 * len(case.changes(PARAMETERS, ends))
    both = Operand.W, Operand.I
    assert found.modelled[:, 0].tolist() == [
        len(case.changes(RELEVANT[operand], case.home(operand))) for operand in both
    ]
    for way, order in zip(found.loads, (both, both[::-1]), strict=True):
        loads = case.loads(order)
        assert way[:, 0].tolist() == [loads[operand] for operand in both]
