"""A kernel of CUDA C for one nest.

Leading loops over outputs become thread blocks, unrolled loops the threads of a block. The memory
above the threads becomes shared memory, the one beneath them registers; what lies further out is
the GPU's cache, which no program manages. Where sums return to memory, a thread adds to what is
there. The text is C as well: there blocks and threads are loops, and all stretches between two
barriers are run by one thread after the other, so a compiler for C can judge the loops.

Deviation: the machine's file lets thread blocks run one after another; on a GPU they run side by
side, and share its cache.

References:
    Huang et al.: CoSA: Scheduling by Constrained Optimization for Spatial Accelerators. ISCA 2021.
    Section V-D.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ....ir.arch import Architecture
from ....ir.errors import OptionError
from ....ir.mapping import LoopNest
from ....ir.workload import OPERANDS, REDUCTION, Dim, Operand
from .digits import Digit, coordinate, digits_of
from .tiles import Axis, KeptTile, tile_of

_TYPES = {8: "signed char", 16: "short", 32: "float"}
_AXES = ("x", "y", "z")
_LARGEST = 2**31 - 1
_MACROS = """
#ifdef __CUDACC__
#define KERNEL extern "C" __global__ void
#define SHARED __shared__
#define OWN(type, name, size) type name[size]
#define MINE(name) name
#define BARRIER __syncthreads()
#define EACH_BLOCK
#define EACH_THREAD
#define block ((int)blockIdx.x)
#define tx ((int)threadIdx.x)
#define ty ((int)threadIdx.y)
#define tz ((int)threadIdx.z)
#else
#define KERNEL void
#define SHARED static
#define OWN(type, name, size) static type name[THREADS][size]
#define MINE(name) name[THREAD]
#define BARRIER (void)0
#define EACH_BLOCK for (int block = 0; block < BLOCKS; ++block)
#define EACH_THREAD for (int tz = 0; tz < THREADS_Z; ++tz) for (int ty = 0; ty < THREADS_Y; ++ty) for (int tx = 0; tx < THREADS_X; ++tx)
#endif
"""  # noqa: E501 - lines of C
_LAUNCH = """
#ifdef __CUDACC__
extern "C" void launch_layer({parameters}) {{
  layer<<<BLOCKS, dim3(THREADS_X, THREADS_Y, THREADS_Z)>>>(W, I, O);
}}
#endif
"""


def write_cuda_kernel(nest: LoopNest, arch: Architecture) -> str:
    """Return the text of a kernel ``layer(W, I, O)`` of CUDA C.

    ``W`` is ``[G][K][C][R][S]``, ``I`` ``[N][G][C][H][W]`` with all rows and columns that windows
    touch, ``O`` ``[N][G][K][P][Q]``; outputs are sums, 32 bits wide, and need not be zero before.

    Args:
        nest: Of a workload of 8, 16 or 32 bits.
        arch: Its machine: all fan-outs beneath one memory, one memory beneath them.

    Raises:
        OptionError: The machine is no block of threads, or tensors are too large, or tiles are.
    """
    _check_machine(arch)
    _check_nest(nest, arch)
    kernel = _Kernel(nest=nest, arch=arch)
    kernel.check_shared()
    return kernel.text()


def _check_machine(arch: Architecture) -> None:
    below = {fanout.below for fanout in arch.fanouts}
    if (
        len(below) != 1
        or len(arch.fanouts) > len(_AXES)
        or any(fanout.reduction for fanout in arch.fanouts)
        or arch.index(next(iter(below))) != len(arch.levels) - 2
        or Operand.O in arch.levels[-2].holds
    ):
        raise OptionError(
            f"{arch.name} is no block of threads: CUDA has up to three fan-outs beneath one shared "
            "memory without outputs, registers beneath them, and threads that do not add up",
            hint="map for gpu-k80",
        )


def _check_nest(nest: LoopNest, arch: Architecture) -> None:
    work = nest.workload
    if work.weight_bits != work.input_bits or work.weight_bits not in _TYPES:
        raise OptionError(
            f"CUDA kernels have weights and inputs of one width, not {work.weight_bits} and "
            f"{work.input_bits} bits",
            hint=f"widths: {', '.join(map(str, _TYPES))}",
        )
    largest = max(work.elements(operand) for operand in OPERANDS)
    if largest > _LARGEST:
        raise OptionError(f"a tensor of {largest} elements is too large for {arch.name}'s kernels")


@dataclass(frozen=True, kw_only=True)
class _Kernel:
    """One nest on its way to text."""

    nest: LoopNest
    arch: Architecture

    @cached_property
    def digits(self) -> Mapping[Dim, tuple[Digit, ...]]:
        """Of every coordinate."""
        own = self.nest.start(Operand.I, self.arch.levels[-1].name)
        return digits_of(self.nest, len(self.nest.temporal) if own is None else own)

    @cached_property
    def unrolled(self) -> tuple[Digit, ...]:
        """The threads' digits."""
        return tuple(
            digit for own in self.digits.values() for digit in own if digit.position is None
        )

    @cached_property
    def shared(self) -> tuple[KeptTile, ...]:
        """What lies in shared memory."""
        return self._tiles(self.arch.levels[-2].name, "shared", threads=True)

    @cached_property
    def own(self) -> tuple[KeptTile, ...]:
        """What lies in the registers of a thread."""
        return self._tiles(self.arch.levels[-1].name, "own", threads=False)

    def _tiles(self, level: str, prefix: str, *, threads: bool) -> tuple[KeptTile, ...]:
        starts = {operand: self.nest.start(operand, level) for operand in OPERANDS}
        return tuple(
            tile_of(
                operand,
                f"{prefix}_{operand}",
                start,
                self.digits,
                self.nest.workload,
                threads=threads,
            )
            for operand, start in starts.items()
            if start is not None
        )

    @cached_property
    def blocks(self) -> int:
        """How many leading loops become thread blocks."""
        starts = [tile.start for tile in (*self.shared, *self.own)]
        loops = self.nest.temporal
        reductions = [at for at, loop in enumerate(loops) if loop.dim in REDUCTION]
        return min(starts + reductions + [len(loops)])

    def check_shared(self) -> None:
        """Check that tiles fit shared memory with the gaps that a kernel keeps in them.

        Raises:
            OptionError: They do not; the cost model counts only what is touched.
        """
        usable = self.arch.levels[-2].usable
        taken = sum(tile.size for tile in self.shared) * self.nest.workload.weight_bits // 8
        if usable is not None and taken > usable:
            raise OptionError(
                f"tiles with their gaps take {taken} bytes of a shared memory of {usable} bytes"
            )

    def text(self) -> str:
        """Return the whole file."""
        own = _TYPES[self.nest.workload.weight_bits]
        parameters = f"const {own} *W, const {own} *I, {self.sums} *O"
        lines = [*self._sizes(), _MACROS]
        lines += [f"KERNEL layer({parameters}) {{", *_indented(self._body()), "}"]
        return "\n".join(lines) + "\n" + _LAUNCH.format(parameters=parameters)

    @property
    def sums(self) -> str:
        """Type of a sum."""
        return "float" if self.nest.workload.weight_bits == 32 else "int"

    def _sizes(self) -> Iterable[str]:
        outer = self.nest.temporal[: self.blocks]
        threads = [
            math.prod(loop.extent for loop in self.nest.spatial if loop.fanout == fanout.name)
            for fanout in self.arch.fanouts
        ]
        sides = dict(zip(_AXES, [*threads, 1, 1, 1], strict=False))
        yield f"#define BLOCKS {math.prod(loop.extent for loop in outer)}"
        yield from (f"#define THREADS_{axis.upper()} {size}" for axis, size in sides.items())
        yield f"#define THREADS {math.prod(sides.values())}"
        yield "#define THREAD ((tz * THREADS_Y + ty) * THREADS_X + tx)"

    def _body(self) -> Iterable[str]:
        own = _TYPES[self.nest.workload.weight_bits]
        for tile in self.shared:
            yield f"SHARED {own} {tile.name}[{tile.size}];"
        for tile in self.own:
            kind = self.sums if tile.operand is Operand.O else own
            yield f"OWN({kind}, {tile.name}, {tile.size});"
        yield "EACH_BLOCK {"
        rest = 1
        for position in reversed(range(self.blocks)):
            extent = self.nest.temporal[position].extent
            yield f"  const int {self._variable(position)} = block / {rest} % {extent};"
            rest *= extent
        yield from _indented(self._of_block(self.blocks))
        yield "}"

    def _variable(self, position: int) -> str:
        return f"{self.nest.temporal[position].dim.lower()}{position}"

    def _of_block(self, position: int) -> Iterable[str]:
        """Yield what a block does from a loop inwards; all threads meet at barriers."""
        filled = [tile for tile in self.shared if tile.start == position]
        yield from ["BARRIER;"] if filled else []
        for tile in filled:
            yield from self._filled(tile)
        yield from ["BARRIER;"] if filled else []
        if not any(tile.start > position for tile in self.shared):
            yield from self._by_threads(list(self._of_thread(position)))
            return
        yield from self._by_threads(list(self._begun(position)))
        yield from self._loop(position, self._of_block(position + 1))
        yield from self._by_threads(list(self._ended(position)))

    def _of_thread(self, position: int) -> Iterable[str]:
        """Yield what a thread does from a loop inwards, without barriers."""
        yield from self._begun(position)
        if position == len(self.nest.temporal):
            yield from self._added_up()
        else:
            yield from self._loop(position, self._of_thread(position + 1))
        yield from self._ended(position)

    def _loop(self, position: int, body: Iterable[str]) -> Iterable[str]:
        yield _for(self._variable(position), self.nest.temporal[position].extent)
        yield from _indented(body)
        yield "}"

    def _by_threads(self, body: Sequence[str], within: Sequence[Digit] = ()) -> Iterable[str]:
        """Yield a body that each thread runs, with the threads' digits that it needs.

        Args:
            body: Its lines.
            within: Digits that it declares itself.
        """
        if not body:
            return
        words = set(re.findall(r"\w+", "\n".join(body)))
        yield "EACH_THREAD {"
        for digit in self.unrolled:
            if digit.name in words and digit not in within:
                yield f"  const int {digit.name} = {self._of_thread_index(digit)};"
        yield from _indented(body)
        yield "}"

    def _of_thread_index(self, digit: Digit) -> str:
        """Return an unrolled digit as an expression of the thread's indices."""
        axis = [fanout.name for fanout in self.arch.fanouts].index(digit.fanout)
        number = int(digit.name.partition("_")[2])
        inner = math.prod(
            loop.extent for loop in self.nest.spatial[number + 1 :] if loop.fanout == digit.fanout
        )
        return f"t{_AXES[axis]} / {inner} % {digit.extent}"

    def _filled(self, tile: KeptTile) -> Iterable[str]:
        """Yield how all threads together fill a tile of shared memory."""
        axes = [(f"axis{number}", axis) for number, axis in enumerate(tile.axes)]
        radices = [(digit.name, digit.extent) for digit in tile.plain]
        radices += [(name, axis.size) for name, axis in axes]
        body = [f"for (int at = THREAD; at < {tile.size}; at += THREADS) {{"]
        rest = 1
        for name, extent in reversed(radices):
            body.append(f"  const int {name} = at / {rest} % {extent};")
            rest *= extent
        if tile.operand is Operand.I:
            source = self._input(*(self._corner(name, axis) for name, axis in axes))
        else:
            source = self._off_chip(tile.operand)
        body += [f"  {tile.name}[at] = {source};", "}"]
        yield from self._by_threads(body, tile.inside)

    def _corner(self, name: str, axis: Axis) -> str:
        """Return the row or column of the whole input of one that shared memory keeps."""
        within = {*axis.outputs, *axis.taps}
        first = Dim.P if name == "axis0" else Dim.Q
        second = Dim.R if name == "axis0" else Dim.S
        output = coordinate(digit for digit in self.digits[first] if digit not in within)
        tap = coordinate(digit for digit in self.digits[second] if digit not in within)
        return f"({output} * {axis.stride} + {tap} * {axis.dilation} + {axis.distance(name)})"

    def _begun(self, position: int) -> Iterable[str]:
        """Yield how registers are filled whose tiles start at a loop."""
        for tile in self.own:
            if tile.start != position:
                continue
            sums = tile.operand is Operand.O
            value = self._sum_before(position) if sums else self._outer(tile.operand)
            yield from _over(tile.inside, [f"MINE({tile.name})[{tile.index()}] = {value};"])

    def _ended(self, position: int) -> Iterable[str]:
        """Yield how sums leave registers whose tile starts at a loop."""
        for tile in self.own:
            if tile.start == position and tile.operand is Operand.O:
                store = f"{self._place(Operand.O)} = MINE({tile.name})[{tile.index()}];"
                yield from _over(tile.inside, [f"{self._if_within(Operand.O)}{store}"])

    def _added_up(self) -> Iterable[str]:
        """Yield one multiplication and addition."""
        weight, value = (self._inner(operand) for operand in (Operand.W, Operand.I))
        product = f"({self.sums}){weight} * {value}"
        tile = next((item for item in self.own if item.operand is Operand.O), None)
        if tile is not None:
            yield f"MINE({tile.name})[{tile.index()}] += {product};"
            return
        before = self._sum_before(len(self.nest.temporal))
        yield f"{self._if_within(Operand.O)}{self._place(Operand.O)} = {before} + {product};"

    def _sum_before(self, position: int) -> str:
        """Return what a sum is before a loop: zero, or what was added up further out."""
        outer = [
            self._variable(at)
            for at, loop in enumerate(self.nest.temporal[:position])
            if loop.dim in REDUCTION and loop.extent > 1
        ]
        if not outer:
            return "0"
        again = " || ".join(outer)
        within = " && ".join([f"({again})", *self._limits(Operand.O)])
        return f"({within} ? {self._place(Operand.O)} : 0)"

    def _inner(self, operand: Operand) -> str:
        """Return an element of an operand, from registers where they have it."""
        for tile in self.own:
            if tile.operand is operand:
                return f"MINE({tile.name})[{tile.index()}]"
        return self._outer(operand)

    def _outer(self, operand: Operand) -> str:
        """Return an element of an operand, from shared memory where that has it."""
        for tile in self.shared:
            if tile.operand is operand:
                return f"{tile.name}[{tile.index()}]"
        if operand is Operand.W:
            return self._off_chip(operand)
        work = self.nest.workload
        pairs = zip(((Dim.P, Dim.R), (Dim.Q, Dim.S)), work.stride, work.dilation, strict=True)
        return self._input(
            *(
                f"({coordinate(self.digits[output])} * {stride}"
                f" + {coordinate(self.digits[tap])} * {dilation})"
                for (output, tap), stride, dilation in pairs
            )
        )

    def _input(self, row: str, column: str) -> str:
        """Return an element of the whole input, zero beyond its ends."""
        work, extents = self.nest.workload, self.nest.extents
        height, width = self._input_sizes()
        limits = list(self._limits_of((Dim.N, Dim.G, Dim.C)))
        if extents[Dim.P] > work.P or extents[Dim.R] > work.R:
            limits.append(f"{row} < {height}")
        if extents[Dim.Q] > work.Q or extents[Dim.S] > work.S:
            limits.append(f"{column} < {width}")
        outer = _place("I", self._pairs((Dim.N, Dim.G, Dim.C)), ((row, height), (column, width)))
        return f"({' && '.join(limits)} ? {outer} : 0)" if limits else outer

    def _input_sizes(self) -> tuple[int, int]:
        """Return rows and columns of the whole input."""
        work = self.nest.workload
        height = (work.P - 1) * work.stride[0] + (work.R - 1) * work.dilation[0] + 1
        return height, (work.Q - 1) * work.stride[1] + (work.S - 1) * work.dilation[1] + 1

    def _off_chip(self, operand: Operand) -> str:
        """Return an element of the whole weights, zero beyond their ends."""
        limits = list(self._limits(operand))
        place = self._place(operand)
        return f"({' && '.join(limits)} ? {place} : 0)" if limits else place

    def _place(self, operand: Operand) -> str:
        """Return an element of the whole weights or outputs."""
        return _place(operand.value, self._pairs(_DIMS[operand]))

    def _pairs(self, dims: Iterable[Dim]) -> list[tuple[str, int]]:
        """Return coordinates as expressions, with the extents of the whole tensor."""
        return [(coordinate(self.digits[dim]), self.nest.workload.dims[dim]) for dim in dims]

    def _if_within(self, operand: Operand) -> str:
        limits = list(self._limits(operand))
        return f"if ({' && '.join(limits)}) " if limits else ""

    def _limits(self, operand: Operand) -> Iterable[str]:
        return self._limits_of(_DIMS[operand])

    def _limits_of(self, dims: Iterable[Dim]) -> Iterable[str]:
        """Yield what holds for the elements that padding did not add."""
        for dim in dims:
            if dim in self.nest.padding:
                yield f"{coordinate(self.digits[dim])} < {self.nest.workload.dims[dim]}"


_DIMS: Mapping[Operand, tuple[Dim, ...]] = {
    Operand.W: (Dim.G, Dim.K, Dim.C, Dim.R, Dim.S),
    Operand.O: (Dim.N, Dim.G, Dim.K, Dim.P, Dim.Q),
}
"""How weights and outputs lie in memory, the slowest dimension first."""


def _place(name: str, *pairs: Iterable[tuple[str, int]]) -> str:
    """Return an element of an array, from coordinates and extents, the slowest first."""
    found = ""
    for value, extent in (pair for part in pairs for pair in part):
        found = value if found in ("", "0") else f"({found} * {extent} + {value})"
    return f"{name}[{found}]"


def _over(digits: Iterable[Digit], body: Sequence[str]) -> Iterable[str]:
    """Yield loops over temporal digits, and a body within."""
    lines = list(body)
    for digit in reversed(list(digits)):
        lines = [_for(digit.name, digit.extent), *_indented(lines), "}"]
    return lines


def _for(name: str, extent: int) -> str:
    return f"for (int {name} = 0; {name} < {extent}; ++{name}) {{"


def _indented(lines: Iterable[str]) -> Iterable[str]:
    return [f"  {line}" for line in lines]
