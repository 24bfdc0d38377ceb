"""A small machine with a mesh, for nests."""

from dataclasses import replace

from accnn.ir.arch import Architecture, Fanout, MemoryLevel
from accnn.ir.workload import Operand

from .machines import network

W, I, O = Operand.W, Operand.I, Operand.O  # noqa: E741


def machine(**changes) -> Architecture:
    """Return 4 x 3 elements of two MACs around a scratchpad; links of one byte."""
    dram = MemoryLevel(
        name="dram", holds=(W, I, O), capacity=None, read_bandwidth=16.0, shared_port=True
    )
    pad = MemoryLevel(name="gb", holds=(I, O), capacity=1 << 20, double_buffered=True)
    near = MemoryLevel(name="near", holds=(W, I, O), capacity=1 << 20, double_buffered=True)
    arch = Architecture(
        name="small",
        levels=(dram, pad, near),
        scratchpad="gb",
        fanouts=(Fanout(name="pe", below="gb", size=12), Fanout(name="mac", below="near", size=2)),
        accumulator_bits=24,
        network=network(flit_bits=8),
    )
    return replace(arch, **changes)
