"""The arrays of all NPUs: what descriptors do on them and how tiles lie in them, each once."""

from dataclasses import dataclass
from fractions import Fraction

from ...ir.isa.instructions import Activate, AnyInstruction, Copy, Requant, Space
from ...ir.isa.program import Program
from ...ir.workload import Operand
from .nest import ArrayNest
from .run import ArrayRun, run_on
from .spread import TileInstances, spread_on


@dataclass(frozen=True, slots=True)
class Moved:
    """A tile that an instruction other than ``Mac`` brings into, or takes from, an array.

    Attributes:
        npu: Whose array.
        inwards: Whether it comes in.
        spread: How it lies there, and what crosses the links.
    """

    npu: int
    inwards: bool
    spread: TileInstances


class Arrays:
    """Memoises by descriptor and NPU; one per program.

    NPUs with arrays of equal sizes share what is known.
    """

    def __init__(self, program: Program) -> None:
        arch = program.arch
        self._program = program
        sizes = [npu.sizes for npu in arch.npus]
        self._twins = [sizes.index(own) for own in sizes]
        self._machines = [arch.for_npu(npu) for npu in arch.npus]
        self._runs: dict[tuple[int, int, bool], ArrayRun] = {}
        self._parts: dict[tuple[int, int, Operand], int] = {}
        self._spreads: dict[tuple[int, int, int], TileInstances] = {}

    def run(self, nest: int, npu: int, *, accumulate: bool) -> ArrayRun:
        """Return what a descriptor does on an NPU.

        Args:
            nest: Number of the descriptor.
            npu: Number of the NPU.
            accumulate: Whether it adds to sums that are there.

        Raises:
            SimulationError: The NPU cannot run it.
        """
        key = nest, self._twins[npu], accumulate
        if key not in self._runs:
            machine = self._machines[key[1]]
            self._runs[key] = run_on(self._program.nests[nest], machine, accumulate=accumulate)
        return self._runs[key]

    def part(self, nest: int, npu: int, held: TileInstances) -> int:
        """Return what a descriptor needs of a tile in one instance of its memory [byte].

        Args:
            nest: Number of the descriptor.
            npu: Number of the NPU.
            held: How the tile lies.
        """
        key = nest, self._twins[npu], held.operand
        if key not in self._parts:
            on_array = ArrayNest(self._program.nests[nest], self._machines[key[1]])
            elements = on_array.held(held.operand, held.level, 0)
            self._parts[key] = -(-elements * on_array.bits(held.operand) // 8)
        return self._parts[key]

    def spread(self, layout: int, npu: int, element_bytes: int) -> TileInstances:
        """Return how a tile lies in the memories of an NPU.

        Args:
            layout: Number of the descriptor that says how.
            npu: Number of the NPU.
            element_bytes: Size of one element [byte].

        Raises:
            SimulationError: The NPU has no such unrolling.
        """
        key = layout, self._twins[npu], element_bytes
        if key not in self._spreads:
            item = self._program.nests[layout]
            instances = self._program.arch.instances(item.allocations[0].level)
            machine = self._machines[key[1]]
            self._spreads[key] = spread_on(item, machine, element_bytes, instances)
        return self._spreads[key]

    def moved(self, instruction: AnyInstruction) -> Moved | None:
        """Return the tile that an instruction moves into or out of a memory of an array."""
        match instruction:
            case Copy(layout=layout, dst=dst, src=src, element_bytes=width) if layout >= 0:
                inwards = dst.space in (Space.WB, Space.AB)
                npu = dst.npu if inwards else src.npu
                return Moved(npu, inwards, self.spread(layout, npu, width))
            case Requant(layout=layout, acc=acc, acc_bytes=width) if layout >= 0:
                spread = self.spread(layout, acc.npu, width)
                ratio = Fraction(instruction.dtype.bytes, width)
                return Moved(acc.npu, False, spread.finished(ratio))
            case Activate(layout=layout, src=src) if layout >= 0:
                return Moved(src.npu, False, self.spread(layout, src.npu, 4))
            case _:
                return None
