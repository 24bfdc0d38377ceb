"""What instructions read and write, by the sizes of their elements."""

import math

import pytest

from accnn.ir.errors import SimulationError
from accnn.ir.isa.instructions import Access, Binary, BinaryKind, Convert, Copy, Select, Space
from accnn.ir.types import DType
from accnn.runtime_sim.accesses import Way, touches

SHAPE = (3, 5)


def dense(address: int, size: int) -> Access:
    return Access(Space.GB, 0, address, (5 * size, size))


@pytest.mark.parametrize("size", [1, 2, 4])
def test_a_choice_reads_a_byte_of_truth_for_every_element(size: int) -> None:
    places = [dense(1000 * at, size) for at in range(3)]
    choice = Select(
        dst=places[0],
        condition=dense(9000, 1),
        a=places[1],
        b=places[2],
        shape=SHAPE,
        element_bytes=size,
    )

    found = {(item.access.address, item.way): item.region.bytes for item in touches(choice)}

    count = math.prod(SHAPE)
    reads = {
        (9000, Way.READ): count,
        (1000, Way.READ): size * count,
        (2000, Way.READ): size * count,
    }
    assert found == {**reads, (0, Way.WRITE): size * count}


def test_a_comparison_writes_a_byte_and_a_cast_what_it_makes() -> None:
    less = Binary(
        kind=BinaryKind.LESS,
        dst=dense(0, 1),
        a=dense(1000, 4),
        b=dense(2000, 4),
        shape=SHAPE,
        dtype=DType.F32,
    )
    cast = Convert(dst=dense(0, 2), src=dense(1000, 8), shape=SHAPE, dtype=DType.S64, to=DType.S16)

    for instruction, read, written in ((less, 4, 1), (cast, 8, 2)):
        for item in touches(instruction):
            size = read if item.way is Way.READ else written
            assert item.region.bytes == size * math.prod(SHAPE)


@pytest.mark.parametrize("strides", [(1,), (1, 1, 1)])
@pytest.mark.parametrize("field", ["dst", "src"])
def test_strides_match_the_loops(field: str, strides: tuple[int, ...]) -> None:
    sides = {"dst": dense(0, 1), "src": dense(1000, 1)}
    sides[field] = Access(Space.GB, 0, 0, strides)

    with pytest.raises(SimulationError, match=f"has {len(strides)} strides for 2 loops"):
        touches(Copy(**sides, shape=SHAPE, element_bytes=1))
