import dataclasses

import pytest

from accnn.ir import isa, latency
from accnn.ir.isa import Copy, Fill, Space
from accnn.ir.types import DType

from ..programs import at, machine

GB, DRAM = at(Space.GB, 0, 1), at(Space.DRAM, 0, 1)
ELEMENTWISE = {"dst": GB, "src": GB, "shape": (9,)}


@pytest.mark.parametrize(
    ("instruction", "expected"),
    [
        (isa.Sync(), 1),
        (isa.Halt(), 1),
        (Copy(dst=GB, src=DRAM, shape=(3, 3), element_bytes=2), 10 + 5),
        (Copy(dst=DRAM, src=GB, shape=(16,), element_bytes=1), 10 + 4),
        (Copy(dst=GB, src=GB, shape=(33,), element_bytes=1), 4 + 3),
        (Fill(dst=DRAM, shape=(16,), element_bytes=1, value=0), 10 + 4),
        (Fill(dst=GB, shape=(16,), element_bytes=1, value=0), 4 + 1),
        (isa.Activate(**ELEMENTWISE, bias=None, act=isa.Activation.RELU), 2 + 2),
        (isa.Activate(**ELEMENTWISE, bias=None, act=isa.Activation.TANH), 2 + 5),
        (isa.Lookup(**ELEMENTWISE, table=GB), 2 + 2),
        (isa.Reduce(**ELEMENTWISE, kind=isa.ReduceKind.SUM), 2 + 2),
        (isa.Quantize(**ELEMENTWISE, dtype=DType.S8, scale=1.0, zero_point=0), 2 + 2),
    ],
)
def test_the_table(instruction, expected):
    assert latency.cycles(instruction, machine()) == expected


def test_channels_share_the_off_chip_bandwidth():
    for channels, expected in ((1, 14), (2, 18), (4, 26)):
        assert latency.copy_cycles(machine(1, channels), 16, off_chip=True) == expected


def test_division_and_windows_cost_more():
    binary = isa.Binary(kind=isa.BinaryKind.ADD, dst=GB, a=GB, b=GB, shape=(16,))
    divide = dataclasses.replace(binary, kind=isa.BinaryKind.DIV)
    pool = isa.Pool(
        kind=isa.ReduceKind.MAX,
        dst=GB,
        src=GB,
        shape=(1, 2, 2, 2),
        kernel=(3, 3),
        window=None,
        dtype=DType.S8,
    )

    assert latency.cycles(binary, machine()) == 4
    assert latency.cycles(divide, machine()) == 2 + 8
    assert latency.cycles(pool, machine()) == 2 + 9


def test_fractions_of_bytes_per_cycle_are_exact():
    arch = machine()
    levels = (dataclasses.replace(arch.levels[0], read_bandwidth=0.1), *arch.levels[1:])
    slow = dataclasses.replace(arch, levels=levels)

    # 0.1 as a float is a little more than 1/10.
    assert latency.copy_cycles(slow, 1, off_chip=True) == 10 + 10
    assert latency.copy_cycles(slow, 10**18, off_chip=True) == 10 + 10**19 - 555


def test_unbounded_bandwidth_leaves_the_startup():
    arch = machine()
    levels = (arch.levels[0], dataclasses.replace(arch.levels[1], read_bandwidth=None))
    fast = dataclasses.replace(arch, levels=(*levels, arch.levels[2]))

    assert latency.copy_cycles(fast, 1 << 20, off_chip=False) == latency.ON_CHIP_STARTUP
