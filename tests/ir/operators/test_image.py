"""How the array sees activations: boxes and strides along a tensor's own axes and along its own."""

from itertools import pairwise, product

import numpy as np
import pytest

from accnn.ir.operators.image import ImageAxes
from accnn.ir.tiles.graph import Range


@pytest.mark.parametrize("batch", [(), (1,), (4,), (1, 4), (2, 3), (3, 1)])
def test_consecutive_matrices_are_a_box_where_they_are_one(batch: tuple[int, ...]):
    axes = ImageAxes(7, batch)
    numbers = np.arange(np.prod(batch, dtype=int)).reshape(batch)
    for start, stop in ((i, j) for i, j in product(range(numbers.size + 1), repeat=2) if i < j):
        box = (Range(0, 1), Range(start, stop), Range(2, 6), Range(1, 3), Range(0, 1))

        found = axes.own_box(box)

        if found is None:
            at = np.argwhere((start <= numbers) & (numbers < stop))
            assert np.prod(np.ptp(at, axis=0) + 1) > stop - start
            continue
        *matrices, rows, channels = found
        assert (rows, channels) == (Range(1, 3), Range(2, 6))
        taken = numbers[tuple(slice(axis.start, axis.stop) for axis in matrices)]
        assert taken.ravel().tolist() == list(range(start, stop))


@pytest.mark.parametrize("batch", [(4,), (1, 4), (2, 3), (3, 1)])
def test_matrices_of_a_batch_lie_a_stride_apart(batch: tuple[int, ...]):
    strides = tuple(step // 2 for step in np.zeros((*batch, 5, 7), np.int16).strides)

    n, group, channel, row, column = ImageAxes(7, batch).split(strides)

    assert (n, channel, row, column) == (0, 1, 7, 0)
    numbers = np.arange(np.prod((*batch, 5, 7))).reshape(-1, 5, 7)
    assert all(b - a == group for a, b in pairwise(numbers[:, 0, 0]))


def test_parts_of_channels_of_several_groups_are_no_box():
    box = (Range(0, 1), Range(0, 2), Range(0, 3), Range(0, 1), Range(0, 1))

    assert ImageAxes(4).own_box(box) is None
    assert ImageAxes(3).own_box(box) == (Range(0, 1), Range(0, 6), Range(0, 1), Range(0, 1))
