"""How many cycles each instruction takes: one table for simulator, schedulers and documentation.

All figures are integers. Bandwidths may be fractional; they are taken as exact ratios, so
``ceil(bytes / bandwidth)`` never depends on rounding.
"""

import math
from typing import TypeAlias, assert_never

from .arch import Architecture
from .isa import (
    Activate,
    Activation,
    Binary,
    BinaryKind,
    Copy,
    Dequantize,
    Fill,
    Halt,
    Lookup,
    Pool,
    QBinary,
    Quantize,
    Reduce,
    Requant,
    Space,
    Sync,
)

VectorInstruction: TypeAlias = (
    Requant | Activate | QBinary | Binary | Lookup | Pool | Reduce | Quantize | Dequantize
)
"""What the vector unit executes."""

Timed: TypeAlias = Sync | Halt | Copy | Fill | VectorInstruction
"""What takes a time that its own fields tell; the loops of a ``Mac`` are told by its nest."""

ON_CHIP_STARTUP = 4
"""Cycles before the first byte of a copy that does not touch off-chip memory [cycle]."""

SIMPLE_COST = 1
"""Lane cycles per element of a simple function [cycle]."""

EXP_COST = 4
"""Lane cycles per element of exp, division and the like [cycle]."""

SLOW_ACTIVATIONS = frozenset(
    {
        Activation.SIGMOID,
        Activation.TANH,
        Activation.EXP,
        Activation.SQRT,
        Activation.RECIPROCAL,
        Activation.ERF,
    }
)
"""Activation functions of cost ``EXP_COST``; all others are simple."""


def copy_cycles(arch: Architecture, bytes: int, *, off_chip: bool) -> int:
    """Return the duration of a copy or fill of ``bytes`` bytes [cycle].

    A copy that touches off-chip memory takes ``dma.startup`` and then its channel's share of the
    off-chip read bandwidth (shared port or not); any other takes ``ON_CHIP_STARTUP`` and then
    the scratchpad's read bandwidth.
    """
    if off_chip:
        share = port_cycles(bytes * arch.dma.channels, arch.off_chip.read_bandwidth)
        return arch.dma.startup + share
    return ON_CHIP_STARTUP + port_cycles(bytes, arch.scratchpad_level.read_bandwidth)


def vector_cycles(arch: Architecture, elements: int, cost: int = SIMPLE_COST) -> int:
    """Return the duration of a vector instruction [cycle].

    Args:
        arch: The machine.
        elements: Elements of the output (of the input for ``Reduce``).
        cost: Lane cycles per element: ``SIMPLE_COST``, ``EXP_COST``, or the taps of a window.
    """
    return arch.vector.startup + -(-elements * cost // arch.vector.lanes)


def activation_cost(act: Activation) -> int:
    """Return the lane cycles per element of an activation function [cycle]."""
    return EXP_COST if act in SLOW_ACTIVATIONS else SIMPLE_COST


def binary_cost(kind: BinaryKind, act: Activation) -> int:
    """Return the lane cycles per element of a float binary function [cycle]."""
    return EXP_COST if kind is BinaryKind.DIV else activation_cost(act)


def cycles(instruction: Timed, arch: Architecture) -> int:
    """Return how long an instruction occupies its queue, from start to retirement [cycle].

    ==========================================  ================================================
    Sync, Halt                                  1
    Copy, Fill from or to ``dram``              ``dma.startup + ceil(bytes * channels / off-chip
                                                read bandwidth)``
    Copy, Fill on chip                          ``ON_CHIP_STARTUP + ceil(bytes / scratchpad read
                                                bandwidth)``
    Requant, QBinary, Lookup, Reduce,           ``vector.startup + ceil(elements / lanes)``
    Quantize, Dequantize
    Activate, Binary                            the same with ``elements * cost``; cost is
                                                ``EXP_COST`` for a slow function, else 1
    Pool                                        the same with ``elements * taps``
    ==========================================  ================================================
    """
    match instruction:
        case Copy():
            off_chip = Space.DRAM in (instruction.src.space, instruction.dst.space)
            size = math.prod(instruction.shape) * instruction.element_bytes
            return copy_cycles(arch, size, off_chip=off_chip)
        case Fill():
            size = math.prod(instruction.shape) * instruction.element_bytes
            return copy_cycles(arch, size, off_chip=instruction.dst.space is Space.DRAM)
        case Sync() | Halt():
            return 1
        case _:
            return vector_cycles(arch, math.prod(instruction.shape), vector_cost(instruction))


def vector_cost(instruction: VectorInstruction) -> int:
    """Return the lane cycles per element of a vector instruction [cycle]."""
    match instruction:
        case Requant() | QBinary() | Lookup() | Reduce() | Quantize() | Dequantize():
            return SIMPLE_COST
        case Activate():
            return activation_cost(instruction.act)
        case Binary():
            return binary_cost(instruction.kind, instruction.act)
        case Pool():
            return math.prod(instruction.kernel)
        case _:
            assert_never(instruction)


def port_cycles(bytes: int, bandwidth: float | None) -> int:
    """Return ``ceil(bytes / bandwidth)``, exactly; unbounded bandwidth takes no time [cycle]."""
    if bandwidth is None:
        return 0
    numerator, denominator = float(bandwidth).as_integer_ratio()
    return -(-bytes * denominator // numerator)
