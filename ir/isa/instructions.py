"""The instruction set: what an accelerator executes, one frozen class per instruction.

Queues run in order and beside each other: per NPU ``ld`` (scratchpad to NPU), ``mx`` (MAC array),
``vx`` (vector unit), ``st`` (NPU to scratchpad); shared ``dma0..``. Each queue counts the
instructions it has retired; an instruction starts when its queue is free and every
``Wait(queue, count)`` that it carries is met. Nothing else orders two queues. The array has two
sets of buffers: ``mx`` is free for the next instruction, which fills the other set, when one begins
to compute.

Memory is byte-addressed: ``dram`` and ``gb`` (the scratchpad) are shared; every NPU has ``wb``
(weights) and ``ab`` (accumulators). ``pb`` (bias, multipliers, tables) lies beside every vector
unit, and all copies of it are alike: what is written reaches all of them, as in the memory for
constants of a GPU. An ``Access`` is an address with one byte stride per loop of its instruction;
stride 0 repeats.

``wb`` and ``ab`` are many memories, one for each lane or column of the array, that are addressed
together: address ``a`` stands for byte ``a / instances`` of every instance. A tile is spread over
them as its *layout* says, begins at a multiple of the number of instances, and takes the bytes of
its largest part in each of them, whether or not that instance has a part.

The integer rules are those of onnxruntime: arithmetic in float32, ``rint`` half to even.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from ..operators.functions import Activation, BinaryKind, ReduceKind
from ..types import DType


class Space(StrEnum):
    """An address space."""

    DRAM = "dram"
    GB = "gb"
    WB = "wb"
    AB = "ab"
    PB = "pb"

    @property
    def is_shared(self) -> bool:
        """Whether all NPUs see the same bytes, in one memory or in copies that are alike."""
        return self is Space.DRAM or self is Space.GB or self is Space.PB

    def owner(self, npu: int) -> int:
        """Return whose bytes an NPU sees: its own, or 0 where all see the same."""
        return 0 if self.is_shared else npu


class Unit(StrEnum):
    """Kind of queue."""

    DMA = "dma"
    LD = "ld"
    MX = "mx"
    VX = "vx"
    ST = "st"


@dataclass(frozen=True, slots=True)
class Access:
    """Where an instruction reads or writes.

    Attributes:
        space: Address space.
        npu: Which NPU's, 0 for shared spaces.
        address: First byte (of loop index zero).
        strides: Byte stride of each loop of the instruction, outermost first.
    """

    space: Space
    npu: int
    address: int
    strides: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Wait:
    """Met once queue number ``queue`` has retired ``count`` instructions."""

    queue: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """What all instructions share.

    Attributes:
        waits: Conditions on other queues, at most one per queue, sorted by queue.
        op: Index of the operator (``Program.operators``) it works for, -1 for none.
    """

    waits: tuple[Wait, ...] = ()
    op: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Sync(Instruction):
    """Do nothing but wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Halt(Instruction):
    """End the queue; must be its last instruction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy(Instruction):
    """Copy elements from one strided region to another.

    Attributes:
        dst: Destination, one stride per extent.
        src: Source, one stride per extent.
        shape: Extents, outermost first, one to six.
        element_bytes: Size of one element.
        layout: Index into ``Program.nests`` of how the tile is spread over the instances of ``wb``
            or ``ab``, where it is copied into or out of one of these; else -1.
    """

    dst: Access
    src: Access
    shape: tuple[int, ...]
    element_bytes: int
    layout: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Fill(Instruction):
    """Write one value to all elements of a strided region.

    Attributes:
        dst: Elements, one stride per extent.
        shape: Extents, outermost first.
        element_bytes: Size of one element.
        value: The bytes of one element as an unsigned integer, little endian.
    """

    dst: Access
    shape: tuple[int, ...]
    element_bytes: int
    value: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """How output positions meet input rows and columns.

    Output ``(p, q)`` and tap ``(r, s)`` meet row ``p*stride[0] + r*dilation[0] - top`` and column
    ``q*stride[1] + s*dilation[1] - left`` of the accessed region, which has ``rows x columns``;
    outside of it stands padding.

    Attributes:
        stride: Vertical and horizontal step.
        dilation: Vertical and horizontal distance of taps.
        rows: Rows that exist.
        columns: Columns that exist.
        top: Rows of padding before row 0 (negative: the first tap lies further inside).
        left: Columns of padding before column 0.
    """

    stride: tuple[int, int]
    dilation: tuple[int, int]
    rows: int
    columns: int
    top: int
    left: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Mac(Instruction):
    """Convolve or multiply one tile on the MAC array and accumulate.

    ``acc[n,g,k,p,q] (+)= sum over c,r,s of (x[n,g,c,row,col] - x_zero) * (w[g,k,c,r,s] - w_zero)``;
    padding counts as ``x_zero``.

    Attributes:
        acc: Accumulators, strides over ``n g k p q``.
        x: Input tile, strides over ``n g c row column``.
        w: Weight tile, strides over ``g k c r s``.
        extents: Extents in the order of ``workload.Dim``: R S P Q C K N G.
        window: Geometry of the input tile.
        x_dtype: Element type of the input.
        w_dtype: Element type of the weights.
        x_zero: Zero point of the input.
        w_zero: Zero point of the weights.
        acc_bytes: Bytes of one accumulator: 3 or 4 for integers (little endian, two's
            complement), 4 for float32.
        accumulate: Whether to add to what is there instead of starting from zero.
        nest: Index into ``Program.nests``: the loops that the array runs, from the memories that
            the operands lie in down to the MACs.
        tile: First byte of the tile of sums that ``acc`` is part of, where that lies in ``ab``.
        layout: Index into ``Program.nests`` of how that tile is spread over the instances of
            ``ab``; -1 where sums lie in ``gb``.
    """

    acc: Access
    x: Access
    w: Access
    extents: tuple[int, int, int, int, int, int, int, int]
    window: Window
    x_dtype: DType
    w_dtype: DType
    x_zero: int = 0
    w_zero: int = 0
    acc_bytes: int = 4
    accumulate: bool = False
    nest: int = 0
    tile: int = 0
    layout: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Requant(Instruction):
    """Turn integer accumulators into quantised outputs.

    ``dst = clip(rint(clip(f32(acc + bias) * multiplier)) + zero_point)``: the product is
    clamped to the output type's range minus the zero point before rounding, and the sum to
    ``[low, high]``.

    Attributes:
        dst: Output elements.
        acc: Accumulators of ``acc_bytes``.
        bias: int32 values, ``None`` for none.
        multiplier: float32 values.
        shape: Extents of the loops that all accesses stride over.
        dtype: Output element type.
        zero_point: Of the output.
        low: Smallest output (fused activation).
        high: Largest output.
        acc_bytes: Bytes of one accumulator.
        layout: Index into ``Program.nests`` of how the tile of sums is spread over the instances of
            ``ab``; -1 where sums lie in ``gb``.
    """

    dst: Access
    acc: Access
    bias: Access | None
    multiplier: Access
    shape: tuple[int, ...]
    dtype: DType
    zero_point: int
    low: int
    high: int
    acc_bytes: int = 4
    layout: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class RequantPair(Requant):
    """Turn integer accumulators into quantised outputs and combine them with another tensor.

    What ``Requant`` would write passes on in the lanes, as one operand of ``QBinary``: nothing lies
    in the scratchpad between the two, and a residual addition reads and writes a byte per element.

    Attributes:
        kind: ``add`` or ``mul``.
        other: The other operand, of the type of the outputs.
        is_second: Whether what was accumulated is the second operand, after the other one.
        scales: Of the first and the second operand and of the result (float32 values).
        zeros: Zero points of the first and the second operand and of the result.
        least: Smallest result (fused activation).
        most: Largest result.
    """

    kind: BinaryKind
    other: Access
    is_second: bool
    scales: tuple[float, float, float]
    zeros: tuple[int, int, int]
    least: int
    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RequantLookup(Requant):
    """Turn integer accumulators into quantised outputs and look these up in a table.

    What ``Requant`` would write passes on in the lanes, as the source of ``Lookup``.

    Attributes:
        table: 256 bytes in a row; its strides do not count.
    """

    table: Access


@dataclass(frozen=True, slots=True, kw_only=True)
class Activate(Instruction):
    """``dst = act(src + bias)``.

    Attributes:
        dst: Output elements.
        src: Input elements (accumulators or a tensor).
        bias: Float32 values to add, ``None`` for none.
        shape: Extents.
        act: The function.
        a: The function's first number: lower bound of ``clip``, slope of ``leaky_relu``.
        b: Its second number: upper bound of ``clip``.
        layout: Where ``src`` is a tile of sums in ``ab``, as in ``Requant``; else -1.
        dtype: Element type of input and output.
    """

    dst: Access
    src: Access
    bias: Access | None
    shape: tuple[int, ...]
    act: Activation = Activation.NONE
    a: float = 0.0
    b: float = 0.0
    layout: int = -1
    dtype: DType = DType.F32


@dataclass(frozen=True, slots=True, kw_only=True)
class QBinary(Instruction):
    """Quantised addition or multiplication of two tensors, with onnxruntime's rounding.

    The scales and zero points are those of the tensors; how they combine (fused multiply-add
    order for addition) is defined by ``ir/operators/pairs.py``.

    Attributes:
        kind: ``add`` or ``mul``.
        dst: Output elements.
        a: First operand.
        b: Second operand.
        shape: Extents.
        dtype: Element type of all three.
        scales: Of a, b and dst (float32 values).
        zeros: Zero points of a, b and dst.
        low: Smallest output (fused activation).
        high: Largest output.
    """

    kind: BinaryKind
    dst: Access
    a: Access
    b: Access
    shape: tuple[int, ...]
    dtype: DType
    scales: tuple[float, float, float]
    zeros: tuple[int, int, int]
    low: int
    high: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Binary(Instruction):
    """``dst = act(kind(a, b))``; comparisons make truth values, bytes of 0 or 1.

    Attributes:
        kind: The function of two operands.
        dst: Output elements.
        a: First operand.
        b: Second operand.
        shape: Extents.
        act: Function of the result.
        low: Lower bound of ``clip``, slope of ``leaky_relu``.
        high: Upper bound of ``clip``.
        dtype: Element type of both operands.
    """

    kind: BinaryKind
    dst: Access
    a: Access
    b: Access
    shape: tuple[int, ...]
    act: Activation = Activation.NONE
    low: float = 0.0
    high: float = 0.0
    dtype: DType = DType.F32


@dataclass(frozen=True, slots=True, kw_only=True)
class Select(Instruction):
    """``dst = a where condition, else b``, element by element.

    Attributes:
        dst: Output elements.
        condition: Truth values, one byte each.
        a: What is taken where the condition holds.
        b: What is taken elsewhere.
        shape: Extents.
        element_bytes: Size of one element of the output.
    """

    dst: Access
    condition: Access
    a: Access
    b: Access
    shape: tuple[int, ...]
    element_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Convert(Instruction):
    """Write numbers as numbers of another type.

    Fractions are cut off; a number is true if it is not 0.

    Attributes:
        dst: Output elements.
        src: Input elements.
        shape: Extents.
        dtype: Element type of the input.
        to: Element type of the output.
    """

    dst: Access
    src: Access
    shape: tuple[int, ...]
    dtype: DType
    to: DType


@dataclass(frozen=True, slots=True, kw_only=True)
class Gather(Instruction):
    """``dst[l] = src[l]`` moved on by ``index[l]`` steps, for every loop index ``l``.

    An axis of the source passes by whole, and the indexed elements are picked. An index below 0
    counts from the axis's end.

    Attributes:
        dst: Output elements.
        src: The element of index 0 for each output.
        index: Indices.
        shape: Extents.
        element_bytes: Size of one element of the output.
        dtype: Element type of the indices, ``s32`` or ``s64``.
        step: Distance of neighbours on the indexed axis [byte].
        extent: Elements of that axis.
    """

    dst: Access
    src: Access
    index: Access
    shape: tuple[int, ...]
    element_bytes: int
    dtype: DType
    step: int
    extent: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup(Instruction):
    """``dst = table[src as unsigned byte]``: any function of one byte.

    Attributes:
        dst: Output bytes.
        src: Input bytes.
        table: 256 bytes in a row; its strides do not count.
        shape: Extents.
    """

    dst: Access
    src: Access
    table: Access
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool(Instruction):
    """Reduce a window of every channel.

    For a mean of integers the sum of ``x - x_zero`` is requantised with
    ``x_scale / (y_scale * n)`` where ``n`` is the number of elements counted; with
    ``float_mean`` the taps are dequantised, summed in float32 in the order of the taps, divided
    by ``n`` and quantised (``numerics.window_average``). A sum of integers is that sum itself.

    Attributes:
        kind: ``max``, ``mean`` or ``sum``.
        dst: Output, strides over ``n c p q``.
        src: Input, strides over ``n c row column``.
        shape: Extents ``(n, c, p, q)``.
        kernel: Taps, vertical and horizontal.
        window: Geometry; padding is never the maximum.
        include_padding: Whether padding counts in a mean.
        outer_rows: With ``include_padding``, rows of the padded input as (first, last) in the
            coordinates of the accessed region; taps outside do not count.
        outer_columns: The same for columns.
        dtype: Element type of the input.
        to: Element type of the output: another one where integers are summed, or sums averaged.
        count: Of how many elements each one of the input is the sum, in a mean of integers.
        scales: Of input and output.
        zeros: Zero points of input and output.
        float_mean: Whether a mean of integers is computed in float32.
        low: Smallest result of a mean of integers, within the type that is written.
        high: Largest one.
    """

    kind: ReduceKind
    dst: Access
    src: Access
    shape: tuple[int, int, int, int]
    kernel: tuple[int, int]
    window: Window
    dtype: DType
    to: DType
    count: int = 1
    include_padding: bool = False
    outer_rows: tuple[int, int] = (0, 0)
    outer_columns: tuple[int, int] = (0, 0)
    scales: tuple[float, float] = (1.0, 1.0)
    zeros: tuple[int, int] = (0, 0)
    float_mean: bool = False
    low: int = -(2**31)
    high: int = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduce(Instruction):
    """Reduction of the last loop: ``dst = kind over i of src[.., i]``.

    What tells a position makes ``s64``.

    Attributes:
        kind: The reduction.
        dst: Output, strides over all loops but the last.
        src: Input, strides over all loops.
        shape: Extents; the last is reduced.
        dtype: Element type of the input.
    """

    kind: ReduceKind
    dst: Access
    src: Access
    shape: tuple[int, ...]
    dtype: DType = DType.F32


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantize(Instruction):
    """``dst = saturate(rint(src / scale) + zero_point)`` from float32.

    Attributes:
        dst: Output elements.
        src: float32 values.
        shape: Extents.
        dtype: Type of the output, ``s8`` or ``u8``.
        scale: Of the output (a float32 value).
        zero_point: Of the output.
    """

    dst: Access
    src: Access
    shape: tuple[int, ...]
    dtype: DType
    scale: float
    zero_point: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Dequantize(Instruction):
    """``dst = f32(src - zero_point) * scale`` to float32.

    Attributes:
        dst: float32 values.
        src: Input elements.
        shape: Extents.
        dtype: Type of the input, an integer type.
        scale: Of the input (a float32 value).
        zero_point: Of the input.
    """

    dst: Access
    src: Access
    shape: tuple[int, ...]
    dtype: DType
    scale: float
    zero_point: int


AnyInstruction: TypeAlias = (
    Sync
    | Halt
    | Copy
    | Fill
    | Mac
    | Requant
    | RequantPair
    | RequantLookup
    | Activate
    | QBinary
    | Binary
    | Lookup
    | Pool
    | Reduce
    | Quantize
    | Dequantize
    | Select
    | Convert
    | Gather
)

UNITS: dict[type[Instruction], frozenset[Unit]] = {
    Sync: frozenset(Unit),
    Halt: frozenset(Unit),
    Copy: frozenset({Unit.DMA, Unit.LD, Unit.ST}),
    Fill: frozenset({Unit.DMA, Unit.LD, Unit.ST}),
    Mac: frozenset({Unit.MX}),
    Requant: frozenset({Unit.VX}),
    RequantPair: frozenset({Unit.VX}),
    RequantLookup: frozenset({Unit.VX}),
    Activate: frozenset({Unit.VX}),
    QBinary: frozenset({Unit.VX}),
    Binary: frozenset({Unit.VX}),
    Lookup: frozenset({Unit.VX}),
    Pool: frozenset({Unit.VX}),
    Reduce: frozenset({Unit.VX}),
    Quantize: frozenset({Unit.VX}),
    Dequantize: frozenset({Unit.VX}),
    Select: frozenset({Unit.VX}),
    Convert: frozenset({Unit.VX}),
    Gather: frozenset({Unit.VX}),
}
"""Which units execute an instruction."""
