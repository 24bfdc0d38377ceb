import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.ir.isa.instructions import Window
from accnn.runtime_sim.functional.region import strided_region, window_region

SMALL = st.integers(1, 4)


def bytes_of(region):
    return {
        lattice.offset + sum(i * s for i, s in zip(index, lattice.strides, strict=True))
        for lattice in region.lattices
        for index in itertools.product(*map(range, lattice.shape))
    }


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(SMALL, st.integers(-20, 20)), max_size=4), SMALL)
def test_a_strided_region_is_the_bytes_of_its_elements(loops, size):
    shape, strides = tuple(n for n, _ in loops), tuple(s for _, s in loops)
    expected = {
        sum(i * s for i, s in zip(index, strides, strict=True)) + byte
        for index in itertools.product(*map(range, shape))
        for byte in range(size)
    }

    region = strided_region(shape, strides, size)

    assert bytes_of(region) == expected
    assert (region.low, region.high) == (min(expected), max(expected) + 1)


def test_contiguous_loops_become_one():
    region = strided_region((4, 3, 2), (6, 2, 1), 1)

    assert region.lattices[0].shape == (24,)
    assert region.bytes == 24


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_window_region_is_the_bytes_that_taps_meet(data):
    P, Q, R, S, C = (data.draw(SMALL) for _ in range(5))
    window = Window(
        stride=(data.draw(SMALL), data.draw(SMALL)),
        dilation=(data.draw(SMALL), data.draw(SMALL)),
        rows=data.draw(st.integers(1, 9)),
        columns=data.draw(st.integers(1, 9)),
        top=data.draw(st.integers(-3, 3)),
        left=data.draw(st.integers(-3, 3)),
    )
    strides = (200, 20, 2)
    expected = set()
    for c, p, q, r, s in itertools.product(*map(range, (C, P, Q, R, S))):
        row = p * window.stride[0] + r * window.dilation[0] - window.top
        column = q * window.stride[1] + s * window.dilation[1] - window.left
        if 0 <= row < window.rows and 0 <= column < window.columns:
            first = c * 200 + row * 20 + column * 2
            expected |= {first, first + 1}

    region = window_region((C,), (P, Q), (R, S), window, strides, 2)

    assert bytes_of(region) == expected
    if expected:
        assert (region.low, region.high) == (min(expected), max(expected) + 1)
