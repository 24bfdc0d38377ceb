"""Which elements of resident tensors an instruction touches; where windows skip some, all between.

Waits follow from it. It judges nothing: the simulator has its own account of every byte.
"""

from collections.abc import Iterator

from ..ir.isa import (
    Access,
    Activate,
    AnyInstruction,
    Binary,
    Copy,
    Dequantize,
    Lookup,
    Mac,
    Pool,
    QBinary,
    Quantize,
    Reduce,
    Requant,
    Space,
    Window,
)
from ..ir.regions import Region
from ..ir.tiles import Tile

Box = tuple[Access, tuple[int, ...]]
"""An access with the extents of its loops."""


def read_regions(instruction: AnyInstruction, tile: Tile) -> tuple[Region, ...] | None:
    """Return what an instruction reads of a resident tensor.

    Args:
        instruction: The instruction.
        tile: The whole tensor.

    Returns:
        Elements of the tensor; ``None`` where it is no operand with a box of its own (parameters),
        which may be anything.
    """
    return _within(tile, _sources(instruction))


def written_regions(instruction: AnyInstruction, tile: Tile) -> tuple[Region, ...] | None:
    """Return what an instruction writes of a resident tensor; as :func:`read_regions`."""
    return _within(tile, _results(instruction))


def whole(elements: int) -> Region:
    """Return all elements of a tensor."""
    return Region(0, (elements,), (1,))


def _within(tile: Tile, boxes: Iterator[Box]) -> tuple[Region, ...] | None:
    assert tile.address is not None
    stop = tile.address + tile.bytes
    found = tuple(
        _region(access, shape, tile)
        for access, shape in boxes
        if access.space is Space.GB and tile.address <= access.address < stop
    )
    return tuple(region for region in found if 0 not in region.shape) if found else None


def _region(access: Access, shape: tuple[int, ...], tile: Tile) -> Region:
    assert tile.address is not None
    size = tile.element_bytes
    offset = (access.address - tile.address) // size
    return Region(offset, shape, tuple(stride // size for stride in access.strides))


def _sources(instruction: AnyInstruction) -> Iterator[Box]:
    match instruction:
        case Mac():
            R, S, P, Q, C, K, N, G = instruction.extents
            yield _windows(instruction.x, (N, G, C), (P, Q), (R, S), instruction.window)
            yield instruction.w, (G, K, C, R, S)
        case Pool():
            n, c, p, q = instruction.shape
            yield _windows(instruction.src, (n, c), (p, q), instruction.kernel, instruction.window)
        case QBinary() | Binary():
            yield instruction.a, instruction.shape
            yield instruction.b, instruction.shape
        case Copy() | Activate() | Lookup() | Reduce() | Quantize() | Dequantize():
            yield instruction.src, instruction.shape
        case _:
            return


def _results(instruction: AnyInstruction) -> Iterator[Box]:
    match instruction:
        case Reduce():
            yield instruction.dst, instruction.shape[:-1]
        case (
            Requant()
            | Pool()
            | QBinary()
            | Binary()
            | Copy()
            | Activate()
            | Lookup()
            | Quantize()
            | Dequantize()
        ):
            yield instruction.dst, instruction.shape
        case _:
            return


def _windows(
    access: Access,
    leading: tuple[int, ...],
    outputs: tuple[int, int],
    taps: tuple[int, int],
    window: Window,
) -> Box:
    """Return the box of all rows and columns that windows touch, padding excluded."""
    spans = (
        _span(outputs[0], taps[0], window.stride[0], window.dilation[0], window.top, window.rows),
        _span(
            outputs[1], taps[1], window.stride[1], window.dilation[1], window.left, window.columns
        ),
    )
    strides = list(access.strides)
    address = access.address
    counts: list[int] = []
    for axis, (first, count, step) in enumerate(spans, start=len(leading)):
        address += first * strides[axis]
        strides[axis] *= step
        counts.append(count)
    box = Access(access.space, access.npu, address, tuple(strides))
    return box, (*leading, *counts)


def _span(
    outputs: int, taps: int, stride: int, dilation: int, before: int, size: int
) -> tuple[int, int, int]:
    """Return first line, number of lines and step; every line between is taken to be touched."""
    step = stride if taps == 1 else dilation if outputs == 1 else 1
    first, last = -before, (outputs - 1) * stride + (taps - 1) * dilation - before
    first += max(0, -(first // step)) * step if first < 0 else 0
    last = min(last, size - 1)
    return first, max(0, (last - first) // step + 1), step
