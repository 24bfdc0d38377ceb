"""What every instruction reads and writes, byte for byte."""

from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from ..ir.isa.instructions import (
    Access,
    Activate,
    AnyInstruction,
    Binary,
    Convert,
    Copy,
    Dequantize,
    Fill,
    Gather,
    Halt,
    Lookup,
    Mac,
    Pool,
    QBinary,
    Quantize,
    Reduce,
    Requant,
    RequantLookup,
    RequantPair,
    Select,
    Sync,
    Window,
)
from ..ir.operators.functions import PAIRS, REDUCTIONS
from .functional.execute import indexed, table_access
from .functional.region import ByteRegion, check_form, has_form, strided_region, window_region

_Extents: TypeAlias = tuple[int, int, int, int, int, int, int, int]
_Geometry: TypeAlias = tuple[tuple[int, int], tuple[int, int], int, int, int, int]


class Way(StrEnum):
    """Direction of a touch."""

    READ = "read"
    WRITE = "write"


class ByteTouch(NamedTuple):
    """Bytes that an instruction reads or writes.

    Attributes:
        access: Where.
        region: Which bytes, relative to the access's address.
        way: Read or written.
    """

    access: Access
    region: ByteRegion
    way: Way


def touches(instruction: AnyInstruction) -> tuple[ByteTouch, ...]:
    """Return all that an instruction reads and writes, reads first.

    Raises:
        SimulationError: An access has not one stride per loop, or a loop does not run.
    """
    match instruction:
        case Sync() | Halt():
            return ()
        case Copy():
            size = instruction.element_bytes
            return (
                _read(instruction.src, instruction.shape, size),
                _write(instruction.dst, instruction.shape, size),
            )
        case Fill():
            return (_write(instruction.dst, instruction.shape, instruction.element_bytes),)
        case Mac():
            return _mac(instruction)
        case RequantPair():
            other = _read(instruction.other, instruction.shape, instruction.dtype.bytes)
            *read, written = _requant(instruction)
            return (*read, other, written)
        case RequantLookup():
            table = _read(table_access(instruction), (256,), 1)
            *read, written = _requant(instruction)
            return (*read, table, written)
        case Requant():
            return _requant(instruction)
        case Activate():
            bias = () if instruction.bias is None else (instruction.bias,)
            size = instruction.dtype.bytes
            return _elementwise(instruction, (instruction.src, *bias), size, size)
        case QBinary():
            return _elementwise(instruction, (instruction.a, instruction.b), 1, 1)
        case Binary():
            made = PAIRS[instruction.kind].result or instruction.dtype
            operands = (instruction.a, instruction.b)
            return _elementwise(instruction, operands, instruction.dtype.bytes, made.bytes)
        case Select():
            size = instruction.element_bytes
            condition = _read(instruction.condition, instruction.shape, 1)
            both = (instruction.a, instruction.b)
            return (condition, *_elementwise(instruction, both, size, size))
        case Convert():
            sizes = instruction.dtype.bytes, instruction.to.bytes
            return _elementwise(instruction, (instruction.src,), *sizes)
        case Gather():
            return _gather(instruction)
        case Lookup():
            table = _read(table_access(instruction), (256,), 1)
            return (table, *_elementwise(instruction, (instruction.src,), 1, 1))
        case Pool():
            return _pool(instruction)
        case Reduce():
            made = REDUCTIONS[instruction.kind].result or instruction.dtype
            return (
                _read(instruction.src, instruction.shape, instruction.dtype.bytes),
                _write(instruction.dst, instruction.shape[:-1], made.bytes),
            )
        case Quantize():
            return _elementwise(instruction, (instruction.src,), 4, instruction.dtype.bytes)
        case Dequantize():
            return _elementwise(instruction, (instruction.src,), instruction.dtype.bytes, 4)


def _mac(instruction: Mac) -> tuple[ByteTouch, ...]:
    accesses = x, w, acc = instruction.x, instruction.w, instruction.acc
    window = instruction.window
    regions = _mac_regions(
        instruction.extents,
        (window.stride, window.dilation, window.rows, window.columns, window.top, window.left),
        (x.strides, w.strides, acc.strides),
        (instruction.x_dtype.bytes, instruction.w_dtype.bytes, instruction.acc_bytes),
    )
    if regions is None:
        for access, shape in zip(accesses, _mac_shapes(instruction.extents), strict=True):
            check_form(access, shape)
    assert regions is not None
    reads = (ByteTouch(x, regions[0], Way.READ), ByteTouch(w, regions[1], Way.READ))
    held = (ByteTouch(acc, regions[2], Way.READ),) if instruction.accumulate else ()
    return (*reads, *held, ByteTouch(acc, regions[2], Way.WRITE))


@lru_cache(maxsize=1 << 16)
def _mac_regions(
    extents: _Extents,
    geometry: _Geometry,
    strides: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]],
    sizes: tuple[int, int, int],
) -> tuple[ByteRegion, ByteRegion, ByteRegion] | None:
    """Return the bytes of ``x``, ``w`` and ``acc``; ``None`` where one has the wrong form.

    Args:
        extents: Of the loops.
        geometry: The fields of the window; plain tuples are looked up faster than a dataclass.
        strides: Of the three accesses [byte].
        sizes: Of their elements [byte].
    """
    shapes = _mac_shapes(extents)
    if not all(map(has_form, shapes, strides)):
        return None
    R, S, P, Q, C, _, N, G = extents
    stride, dilation, rows, columns, top, left = geometry
    window = Window(
        stride=stride, dilation=dilation, rows=rows, columns=columns, top=top, left=left
    )
    x = window_region((N, G, C), (P, Q), (R, S), window, strides[0], sizes[0])
    w, acc = map(strided_region, shapes[1:], strides[1:], sizes[1:])
    return x, w, acc


def _mac_shapes(extents: _Extents) -> tuple[tuple[int, ...], ...]:
    """Return the loops of the accesses ``x``, ``w`` and ``acc``."""
    R, S, P, Q, C, K, N, G = extents
    return (N, G, C, P, Q), (G, K, C, R, S), (N, G, K, P, Q)


def _requant(instruction: Requant) -> tuple[ByteTouch, ...]:
    shape, bias = instruction.shape, instruction.bias
    return (
        _read(instruction.acc, shape, instruction.acc_bytes),
        *(() if bias is None else (_read(bias, shape, 4),)),
        _read(instruction.multiplier, shape, 4),
        _write(instruction.dst, shape, instruction.dtype.bytes),
    )


def _pool(instruction: Pool) -> tuple[ByteTouch, ...]:
    n, c, p, q = instruction.shape
    size = instruction.dtype.bytes
    check_form(instruction.src, instruction.shape)
    src = window_region(
        (n, c), (p, q), instruction.kernel, instruction.window, instruction.src.strides, size
    )
    return (
        ByteTouch(instruction.src, src, Way.READ),
        _write(instruction.dst, instruction.shape, instruction.to.bytes),
    )


def _gather(instruction: Gather) -> tuple[ByteTouch, ...]:
    size, shape = instruction.element_bytes, instruction.shape
    return (
        _read(indexed(instruction), (*shape, instruction.extent), size),
        _read(instruction.index, shape, instruction.dtype.bytes),
        _write(instruction.dst, shape, size),
    )


_Elementwise: TypeAlias = (
    Activate | QBinary | Binary | Lookup | Quantize | Dequantize | Select | Convert
)


def _elementwise(
    instruction: _Elementwise,
    sources: tuple[Access, ...],
    read_bytes: int,
    write_bytes: int,
) -> tuple[ByteTouch, ...]:
    reads = (_read(source, instruction.shape, read_bytes) for source in sources)
    return (*reads, _write(instruction.dst, instruction.shape, write_bytes))


def _read(access: Access, shape: tuple[int, ...], size: int) -> ByteTouch:
    return ByteTouch(access, _strided(access, shape, size), Way.READ)


def _write(access: Access, shape: tuple[int, ...], size: int) -> ByteTouch:
    return ByteTouch(access, _strided(access, shape, size), Way.WRITE)


def _strided(access: Access, shape: tuple[int, ...], size: int) -> ByteRegion:
    check_form(access, shape)
    return strided_region(shape, access.strides, size)
