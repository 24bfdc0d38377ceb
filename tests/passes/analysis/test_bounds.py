import itertools

import pytest

from accnn.ir.workload import Operand, Workload
from accnn.passes.analysis.bounds import Padding, compulsory_bytes

CONV = Workload(R=3, S=3, P=14, Q=14, C=256, K=256)
PADDED = Padding(rows=14, columns=14, top=1, left=1)


def test_padding_does_not_cross_the_off_chip_port():
    weights, outputs = 9 * 256 * 256, 14 * 14 * 256

    assert compulsory_bytes(CONV) == 16 * 16 * 256 + weights + outputs
    assert compulsory_bytes(CONV, padding=PADDED) == 14 * 14 * 256 + weights + outputs


def test_a_resident_input_moves_nothing_padded_or_not():
    resident = frozenset({Operand.I})

    assert compulsory_bytes(CONV, resident, padding=PADDED) == compulsory_bytes(CONV, resident)


@pytest.mark.parametrize(
    ("stride", "taps", "dilation", "before"),
    list(itertools.product((1, 2, 3), (1, 3), (1, 2), (0, 1))),
)
def test_elements_read_are_those_that_windows_meet(stride, taps, dilation, before):
    outputs, extent = 5, 11
    load = Workload(R=taps, P=outputs, stride=(stride, 1), dilation=(dilation, 1))
    seen = [False] * extent
    for output in range(outputs):
        for tap in range(taps):
            row = output * stride + tap * dilation - before
            if 0 <= row < extent:
                seen[row] = True

    padding = Padding(rows=extent, columns=1, top=before, left=0)

    assert padding.elements_read(load) == sum(seen)
