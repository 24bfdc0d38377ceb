"""Small programs for tests of simulator and backend: by hand, and arbitrary ones."""

import dataclasses
import math
import types
import typing
from enum import Enum

import numpy as np
from hypothesis import strategies as st

from accnn.ir.arch import Architecture, Dma, Fanout, MemoryLevel, Npu, VectorUnit
from accnn.ir.isa.instructions import (
    Access,
    AnyInstruction,
    Copy,
    Halt,
    Mac,
    Requant,
    Space,
    Unit,
    Wait,
    Window,
)
from accnn.ir.isa.program import Program, Queue, SpaceSize, Symbol, SymbolKind
from accnn.ir.isa.spaces import level_of_space, space_bytes
from accnn.ir.mapping import Allocation, Loop, LoopNest
from accnn.ir.types import DType, TensorType
from accnn.ir.workload import DIMS, Operand, Workload

from .strategies import values

DRAM = 1 << 16
UNITS = (Unit.DMA, Unit.LD, Unit.MX, Unit.VX, Unit.ST)


def machine(npus=1, channels=1):
    """A machine with round figures."""
    return Architecture(
        name="toy",
        levels=(
            MemoryLevel(
                name="dram",
                holds=(Operand.W, Operand.I, Operand.O),
                capacity=None,
                read_bandwidth=4.0,
                word_bits=64,
                read_energy=100.0,
                write_energy=200.0,
            ),
            MemoryLevel(
                name="gb",
                holds=(Operand.I, Operand.O),
                capacity=1 << 14,
                read_bandwidth=16.0,
                read_energy=1.0,
                write_energy=2.0,
            ),
            MemoryLevel(name="wb", holds=(Operand.W,), capacity=1 << 13, read_energy=0.5),
            MemoryLevel(name="ab", holds=(Operand.O,), capacity=1 << 14, read_energy=0.25),
        ),
        scratchpad="gb",
        fanouts=(Fanout(name="mac", below="ab", size=16),),
        npus=tuple(Npu(name=f"npu{i}") for i in range(npus)),
        vector=VectorUnit(lanes=8, startup=2, energy=0.25, parameter_bytes=1 << 12),
        dma=Dma(channels=channels, startup=10),
    )


def with_sizes(arch, sizes):
    """The machine with memories of other sizes, by space."""
    levels = {name: sizes[space] for space, name in level_of_space(arch).items() if space in sizes}
    return dataclasses.replace(
        arch,
        levels=tuple(
            dataclasses.replace(level, capacity=levels.get(level.name, level.capacity))
            if level.capacity is not None
            else level
            for level in arch.levels
        ),
        vector=dataclasses.replace(
            arch.vector, parameter_bytes=sizes.get(Space.PB, arch.vector.parameter_bytes)
        ),
    )


def program(queues, symbols=(), *, arch=None, sizes=None, operators=("conv",)):
    """A program of ``{"dma0": [...], ...}``; halts, descriptors and layouts are added."""
    sizes = sizes or {}
    arch = with_sizes(arch or machine(), sizes)
    spaces = {Space.DRAM: sizes.get(Space.DRAM, DRAM), **space_bytes(arch)}
    nests = Nests(arch)
    streams = {
        name: (*(nests.attach(item) for item in stream), Halt()) for name, stream in queues.items()
    }
    return Program(
        name="toy program",
        arch=arch,
        spaces=tuple(SpaceSize(space, size) for space, size in spaces.items()),
        symbols=tuple(symbols),
        operators=operators,
        nests=tuple(nests.found),
        queues=tuple(
            Queue(
                unit=Unit(name.rstrip("0123456789")),
                index=int(name.lstrip("dmalxvst")),
                instructions=stream,
            )
            for name, stream in streams.items()
        ),
    )


class Nests:
    """Descriptors and layouts for instructions that were written without: one MAC, no unrolling."""

    def __init__(self, arch):
        self.levels = level_of_space(arch)
        self.found = {}
        self.layouts = {}

    def attach(self, instruction):
        """The instruction with the numbers of its nests."""
        match instruction:
            case Mac():
                return self._mac(instruction)
            case Copy(dst=Access(space=space)) if space in (Space.WB, Space.AB):
                layout = self._layout(space, instruction)
                self.layouts[instruction.dst.npu, space, instruction.dst.address] = layout
                return dataclasses.replace(instruction, layout=layout)
            case Copy(src=Access(space=space)) if space in (Space.WB, Space.AB):
                key = instruction.src.npu, space, instruction.src.address
                layout = self.layouts.get(key, 0)
                return dataclasses.replace(instruction, layout=layout)
            case Requant(acc=Access(space=Space.AB)):
                layout = self.layouts[instruction.acc.npu, Space.AB, instruction.acc.address]
                return dataclasses.replace(instruction, layout=layout)
            case _:
                return instruction

    def _number(self, nest):
        return self.found.setdefault(nest, len(self.found))

    def _layout(self, space, copy):
        operand = Operand.W if space is Space.WB else Operand.O
        elements = math.prod(copy.shape)
        work = Workload(K=elements, weight_bits=8 * copy.element_bytes)
        return self._number(nest_of(work, {operand: self.levels[space]}))

    def _mac(self, mac):
        work = work_of(mac)
        spaces = {Operand.W: mac.w.space, Operand.I: mac.x.space, Operand.O: mac.acc.space}
        homes = {operand: self.levels[space] for operand, space in spaces.items()}
        layout = -1
        if mac.acc.space is Space.AB:
            layout = self._number(nest_of(work, {Operand.O: homes[Operand.O]}))
            self.layouts[mac.acc.npu, Space.AB, mac.acc.address] = layout
        return dataclasses.replace(
            mac, nest=self._number(nest_of(work, homes)), tile=mac.acc.address, layout=layout
        )


def work_of(mac):
    """What a MAC instruction computes."""
    return Workload(
        **dict(zip(DIMS, mac.extents, strict=True)),
        stride=mac.window.stride,
        dilation=mac.window.dilation,
        weight_bits=8 * mac.w_dtype.bytes,
        input_bits=8 * mac.x_dtype.bytes,
        output_bits=8 * mac.acc_bytes,
    )


def nest_of(work, homes):
    """All loops in time, every operand in its home."""
    return LoopNest(
        workload=work,
        temporal=tuple(Loop(dim, n) for dim, n in work.dims.items() if n > 1),
        spatial=(),
        allocations=tuple(Allocation(operand, level, 0) for operand, level in homes.items()),
    )


def symbol(name, kind, address, dtype, *shape):
    """A tensor in off-chip memory."""
    return Symbol(name=name, kind=kind, address=address, type=TensorType(dtype, shape))


def at(space, address, *strides, npu=0):
    """An access."""
    return Access(space, npu, address, strides)


def dense(space, address, shape, size=1, npu=0):
    """An access to a dense tensor in row-major order."""
    strides = [size]
    for extent in reversed(shape[1:]):
        strides.insert(0, strides[0] * extent)
    return Access(space, npu, address, tuple(strides))


def convolution(tiles=4):
    """A double-buffered convolution 3x3 of ``tiles`` tiles with padding, and its data.

    Queues dma0, ld0, mx0, vx0; weights change with every tile. Every wait is needed.
    """
    C, K, H, W = 3, 4, 5, 6
    x_bytes, w_bytes, y_bytes = C * H * W, K * C * 9, K * H * W
    w_base = tiles * x_bytes
    y_base = w_base + tiles * w_bytes
    p_base = y_base + tiles * y_bytes
    window = Window(stride=(1, 1), dilation=(1, 1), rows=H, columns=W, top=1, left=1)
    dma, ld, mx, vx = [], [], [], []
    copy = {"element_bytes": 1, "op": 0}
    ld.append(
        Copy(
            dst=at(Space.PB, 0, 1),
            src=at(Space.DRAM, p_base, 1),
            shape=(8 * K,),
            **copy,
        )
    )
    stored = []
    for t in range(tiles):
        s = t % 2
        dma.append(
            Copy(
                dst=at(Space.GB, s * x_bytes, 1),
                src=at(Space.DRAM, t * x_bytes, 1),
                shape=(x_bytes,),
                waits=(Wait(2, t - 1),) if t >= 2 else (),
                **copy,
            )
        )
        loaded = len(dma)
        if t >= 1:
            dma.append(_store(t - 1, y_bytes, y_base, 2 * x_bytes, copy))
            stored.append(len(dma))
        ld.append(
            Copy(
                dst=at(Space.WB, s * w_bytes, 1),
                src=at(Space.DRAM, w_base + t * w_bytes, 1),
                shape=(w_bytes,),
                waits=(Wait(2, t - 1),) if t >= 2 else (),
                **copy,
            )
        )
        mx.append(
            Mac(
                acc=dense(Space.AB, s * 4 * y_bytes, (1, 1, K, H, W), 4),
                x=dense(Space.GB, s * x_bytes, (1, 1, C, H, W)),
                w=dense(Space.WB, s * w_bytes, (1, K, C, 3, 3)),
                extents=(3, 3, H, W, C, K, 1, 1),
                window=window,
                x_dtype=DType.U8,
                w_dtype=DType.S8,
                x_zero=7,
                waits=(Wait(0, loaded), Wait(1, t + 2), *((Wait(3, t - 1),) if t >= 2 else ())),
                op=0,
            )
        )
        vx.append(
            Requant(
                dst=dense(Space.GB, 2 * x_bytes + s * y_bytes, (K, H, W)),
                acc=dense(Space.AB, s * 4 * y_bytes, (K, H, W), 4),
                bias=at(Space.PB, 0, 4, 0, 0),
                multiplier=at(Space.PB, 4 * K, 4, 0, 0),
                shape=(K, H, W),
                dtype=DType.S8,
                zero_point=-3,
                low=-128,
                high=127,
                waits=(*((Wait(0, stored[t - 2]),) if t >= 2 else ()), Wait(2, t + 1)),
                op=0,
            )
        )
    dma.append(_store(tiles - 1, y_bytes, y_base, 2 * x_bytes, copy))
    symbols = (
        symbol("x", SymbolKind.INPUT, 0, DType.U8, tiles, C, H, W),
        symbol("w", SymbolKind.CONSTANT, w_base, DType.S8, tiles, K, C, 3, 3),
        symbol("y", SymbolKind.OUTPUT, y_base, DType.S8, tiles, K, H, W),
        symbol("p", SymbolKind.CONSTANT, p_base, DType.U8, 8 * K),
    )
    built = program({"dma0": dma, "ld0": ld, "mx0": mx, "vx0": vx}, symbols)
    rng = np.random.default_rng(7)
    bias = rng.integers(-500, 500, K, np.int32)
    factor = rng.uniform(1e-3, 3e-3, K).astype(np.float32)
    constants = {
        "w": rng.integers(-128, 128, (tiles, K, C, 3, 3)).astype(np.int8),
        "p": np.concatenate([bias.view(np.uint8), factor.view(np.uint8)]),
    }
    inputs = {"x": rng.integers(0, 256, (tiles, C, H, W)).astype(np.uint8)}
    return built, constants, inputs


def _store(t, y_bytes, y_base, gb_base, copy):
    return Copy(
        dst=at(Space.DRAM, y_base + t * y_bytes, 1),
        src=at(Space.GB, gb_base + t % 2 * y_bytes, 1),
        shape=(y_bytes,),
        waits=(Wait(3, t + 1),),
        **copy,
    )


def convolution_reference(constants, inputs):
    """What ``convolution`` computes, by formula."""
    x = np.pad(inputs["x"].astype(np.int64) - 7, ((0, 0), (0, 0), (1, 1), (1, 1)))
    w = constants["w"].astype(np.int64)
    tiles, K, _, _, _ = w.shape
    H, W = x.shape[2] - 2, x.shape[3] - 2
    acc = np.zeros((tiles, K, H, W), np.int64)
    for r in range(3):
        for s in range(3):
            acc += np.einsum("tkc,tchw->tkhw", w[..., r, s], x[:, :, r : r + H, s : s + W])
    bias = constants["p"][: 4 * K].view(np.int32)[:, None, None]
    factor = constants["p"][4 * K :].view(np.float32)[:, None, None]
    scaled = (acc + bias).astype(np.float32) * factor
    return np.clip(np.rint(scaled) - 3, -128, 127).astype(np.int8)


def without_wait(built, queue, position, number):
    """The program with one wait dropped."""
    stream = list(built.queues[queue].instructions)
    waits = stream[position].waits
    kept = (*waits[:number], *waits[number + 1 :])
    stream[position] = dataclasses.replace(stream[position], waits=kept)
    return with_stream(built, queue, stream)


def with_stream(built, queue, stream):
    """The program with the instructions of one queue exchanged."""
    queues = list(built.queues)
    queues[queue] = dataclasses.replace(queues[queue], instructions=tuple(stream))
    return dataclasses.replace(built, queues=tuple(queues))


# Arbitrary programs: any structure, no meaning -----------------------------------------------

NESTS = values(LoopNest)
SMALL = st.integers(-(1 << 31), (1 << 31) - 1)
WIDE = st.integers(-(1 << 63), (1 << 63) - 1)
NAMES = st.sampled_from(["x", "conv1.weight", "/layer1/Conv", 'a "quoted" \\ name', "ü;\n", ""])


def _tensor_types():
    return st.one_of(
        st.just(TensorType(DType.F32, ())),
        st.just(TensorType(DType.S8, (1, 3, 5))),
        values(TensorType).filter(_is_finite),
    )


def _is_finite(type):
    return type.quant is None or all(map(math.isfinite, type.quant.scale))


@st.composite
def any_programs(draw):
    """Programs of every instruction with arbitrary fields."""
    streams = st.lists(any_instructions(), max_size=4)
    queues = [
        Queue(unit=unit, index=index, instructions=tuple(draw(streams)))
        for unit, index in draw(
            st.lists(st.tuples(st.sampled_from(Unit), st.integers(0, 3)), max_size=4)
        )
    ]
    symbols = [
        Symbol(name=name, kind=draw(st.sampled_from(SymbolKind)), address=address, type=type)
        for name, address, type in draw(
            st.lists(st.tuples(NAMES, st.integers(0, 1 << 40), _tensor_types()), max_size=2)
        )
    ]
    return Program(
        name=draw(NAMES),
        arch=machine(draw(st.integers(1, 3))),
        spaces=(SpaceSize(Space.GB, draw(st.integers(0, 1 << 40))),),
        symbols=tuple(symbols),
        operators=tuple(draw(st.lists(NAMES, max_size=2))),
        nests=tuple(draw(st.lists(NESTS, max_size=2))),
        queues=tuple(queues),
    )


@st.composite
def any_instructions(draw):
    """Instructions of every class with arbitrary fields of the right types."""

    kind = draw(st.sampled_from(typing.get_args(AnyInstruction)))
    integers = draw(st.sampled_from([SMALL, WIDE]))
    hints = typing.get_type_hints(kind)
    fields = {
        item.name: draw(_field(hints[item.name], integers))
        for item in dataclasses.fields(kind)
        if item.name not in ("waits", "op")
    }
    waits = st.builds(Wait, st.integers(0, 5), st.integers(0, 1 << 31))
    return kind(
        waits=tuple(draw(st.lists(waits, max_size=3))), op=draw(st.integers(-1, 1 << 20)), **fields
    )


def _field(hint, integers):

    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is types.UnionType:
        return st.one_of(st.none(), _field(arguments[0], integers))
    if origin is tuple and arguments[-1] is ...:
        return st.lists(_field(arguments[0], integers), max_size=6).map(tuple)
    if origin is tuple:
        return st.tuples(*(_field(argument, integers) for argument in arguments))
    if hint is Access:
        space = st.sampled_from(Space)
        return st.builds(
            Access, space, st.integers(0, 9), integers, st.lists(integers, max_size=6).map(tuple)
        )
    if hint is Window:
        pair, one = st.tuples(integers, integers), integers
        return st.builds(
            Window, stride=pair, dilation=pair, rows=one, columns=one, top=one, left=one
        )
    if isinstance(hint, type) and issubclass(hint, Enum):
        return st.sampled_from(hint)
    return {int: integers, float: st.floats(allow_nan=False), bool: st.booleans()}[hint]
