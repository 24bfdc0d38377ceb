"""What waits follow from covers every byte that the simulator sees, and not much more."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.backend.footprint import read_regions, whole, written_regions
from accnn.ir.isa import Access, Fill, Mac, Pool, ReduceKind, Requant, Space, Window
from accnn.ir.tiles import Range, Role, Tile
from accnn.ir.types import DType
from accnn.runtime_sim.accesses import Touch, Way, touches

BASE = 64
ROWS, COLUMNS, CHANNELS = 9, 7, 3


def resident(role: Role = Role.I) -> Tile:
    """A whole tensor of single bytes, ``C row column``."""
    return Tile(
        tensor="x",
        role=role,
        view=(ROWS * COLUMNS, COLUMNS, 1),
        box=(Range(0, CHANNELS), Range(0, ROWS), Range(0, COLUMNS)),
        element_bytes=1,
        space=Space.GB,
        address=BASE,
    )


def pool(kernel: tuple[int, int], outputs: tuple[int, int], window: Window, channel: int) -> Pool:
    plane = ROWS * COLUMNS
    return Pool(
        kind=ReduceKind.MAX,
        src=Access(Space.GB, 0, BASE + channel * plane, (0, plane, COLUMNS, 1)),
        dst=Access(Space.GB, 0, 4096, (0, 0, outputs[1], 1)),
        shape=(1, 1, *outputs),
        kernel=kernel,
        window=window,
        dtype=DType.S8,
    )


def elements(touch: Touch) -> set[int]:
    found: set[int] = set()
    for lattice in touch.region.lattices:
        grid = np.indices(lattice.shape).reshape(len(lattice.shape), -1)
        offset = touch.access.address + lattice.offset - BASE
        found.update((offset + np.array(lattice.strides) @ grid).tolist())
    return found


def marked(instruction: Pool) -> set[int]:
    regions = read_regions(instruction, resident())
    assert regions is not None
    entries = np.zeros(CHANNELS * ROWS * COLUMNS, np.int32)
    for region in regions:
        region.within(entries)[...] = 1
    return set(np.flatnonzero(entries).tolist())


small = st.integers(1, 3)


@settings(max_examples=200, deadline=None)
@given(
    kernel=st.tuples(small, small),
    outputs=st.tuples(small, small),
    stride=st.tuples(small, small),
    dilation=st.tuples(small, small),
    before=st.tuples(st.integers(-2, 4), st.integers(-2, 4)),
    channel=st.integers(0, CHANNELS - 1),
)
def test_windows_are_covered(kernel, outputs, stride, dilation, before, channel):
    window = Window(
        stride=stride, dilation=dilation, rows=ROWS, columns=COLUMNS, top=before[0], left=before[1]
    )
    instruction = pool(kernel, outputs, window, channel)
    (read,) = [touch for touch in touches(instruction) if touch.way is Way.READ]

    assert marked(instruction) >= elements(read)


def test_rows_that_no_window_reaches_are_left_out():
    window = Window(stride=(2, 1), dilation=(1, 1), rows=ROWS, columns=COLUMNS, top=-2, left=1)
    found = marked(pool((1, 3), (2, 2), window, channel=1))

    plane = ROWS * COLUMNS
    assert found == {plane + row * COLUMNS + column for row in (2, 4) for column in (0, 1, 2)}


def test_padding_alone_is_nothing():
    window = Window(stride=(1, 1), dilation=(1, 1), rows=ROWS, columns=COLUMNS, top=5, left=0)

    assert read_regions(pool((2, 2), (2, 2), window, channel=0), resident()) == ()


def _product(weights: Access) -> Mac:
    """A product of one number, its other operands elsewhere."""
    elsewhere = Access(Space.GB, 0, 4096, (0,) * 5)
    return Mac(
        acc=elsewhere,
        x=elsewhere,
        w=weights,
        extents=(1,) * 8,
        window=Window(stride=(1, 1), dilation=(1, 1), rows=1, columns=1, top=0, left=0),
        x_dtype=DType.S8,
        w_dtype=DType.S8,
    )


def test_weights_that_are_resident_are_read_where_they_are():
    found = read_regions(_product(Access(Space.GB, 0, BASE, (0,) * 5)), resident(Role.W))

    assert found is not None
    assert [(region.offset, region.end) for region in found] == [(0, 1)]


def test_what_is_no_operand_with_a_box_may_be_anything():
    weights = Access(Space.GB, 0, BASE, (0,) * 5)
    elsewhere = Access(Space.GB, 0, 4096, (0,))
    instruction = Requant(
        dst=elsewhere,
        acc=elsewhere,
        bias=Access(Space.GB, 0, BASE, (0,)),
        multiplier=elsewhere,
        shape=(1,),
        dtype=DType.S8,
        zero_point=0,
        low=-128,
        high=127,
    )
    role = Role.PARAM
    fill = Fill(dst=weights, shape=(1,) * 5, element_bytes=1, value=0)

    assert read_regions(instruction, resident(role)) is None
    assert written_regions(fill, resident(role)) is None
    assert whole(6).end == 6
