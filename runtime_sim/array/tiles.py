"""The tiles in the memories of the arrays: every instance holds what it is given.

A tile is there from the instruction that brings or starts it until another takes over one of its
bytes in any instance, also such bytes as no instruction addresses: copies of weights for several
lanes, and the parts of lanes that have none.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ...ir.errors import SimulationError
from ...ir.isa.instructions import Access, Activate, AnyInstruction, Copy, Mac, Requant, Space
from ...ir.isa.program import Program
from .arrays import Arrays
from .spread import TileInstances

_IN_ARRAY = (Space.WB, Space.AB)


@dataclass(frozen=True, slots=True)
class _Held:
    """A tile in a memory: first byte, and how it is spread."""

    address: int
    layout: int
    spread: TileInstances

    @property
    def end(self) -> int:
        return self.address + self.spread.footprint


class ArrayTiles:
    """Follows the tiles of one execution.

    Attributes:
        program: What is executed.
        arrays: What its descriptors do.
    """

    def __init__(self, program: Program, arrays: Arrays) -> None:
        self.program = program
        self.arrays = arrays
        self._held: dict[tuple[Space, int], list[_Held]] = {}

    def observe(self, npu: int, instruction: AnyInstruction) -> None:
        """Take account of an instruction that begins.

        Args:
            npu: NPU of its queue; copies name the NPU in their accesses.
            instruction: The instruction.

        Raises:
            SimulationError: It uses a tile that is not there, or brings one that does not fit.
        """
        match instruction:
            case Mac():
                self._observe_mac(npu, instruction)
            case Copy() if instruction.layout >= 0:
                self._observe_copy(instruction)
            case Requant() if instruction.layout >= 0:
                self._find(instruction.acc, instruction.layout, instruction.acc.address)
            case Activate() if instruction.layout >= 0:
                self._find(instruction.src, instruction.layout, instruction.src.address)
            case _:
                pass

    def _observe_copy(self, copy: Copy) -> None:
        if copy.dst.space in _IN_ARRAY:
            self._place(copy.dst, copy.dst.address, copy.layout, copy.element_bytes)
        else:
            self._find(copy.src, copy.layout, copy.src.address)

    def _observe_mac(self, npu: int, mac: Mac) -> None:
        nest = self.program.nests[mac.nest]
        homes: list[tuple[Access, _Held]] = []
        if mac.w.space is Space.WB:
            homes.append((mac.w, self._containing(mac.w)))
        if mac.acc.space is Space.AB:
            homes.append((mac.acc, self._sums(mac)))
        for access, held in homes:
            needed = self.arrays.part(mac.nest, npu, held.spread)
            if needed > held.spread.part:
                raise SimulationError(
                    f"{nest.workload}: an instance of {held.spread.level} needs {needed} byte of "
                    f"the tile at {access.space}:{held.address:#x}, it holds {held.spread.part}"
                )
        self._check_shared(npu, mac, [held for _, held in homes])

    def _sums(self, mac: Mac) -> _Held:
        """Return the tile of sums of a MAC instruction; the first that clears it starts it."""
        found = self._at(mac.acc, mac.tile)
        if found is None or found.layout != mac.layout:
            if mac.accumulate:
                raise SimulationError(f"no tile of sums is at {mac.acc.space}:{mac.tile:#x}")
            found = self._place(mac.acc, mac.tile, mac.layout, mac.acc_bytes)
        if not found.address <= mac.acc.address < found.end:
            raise SimulationError(
                f"sums at {mac.acc.address:#x} lie outside of their tile, "
                f"{found.address:#x}..{found.end - 1:#x}"
            )
        return found

    def _check_shared(self, npu: int, mac: Mac, homes: Sequence[_Held]) -> None:
        """Check memories that hold addressed tiles and, inside of the array, others as well."""
        run = self.arrays.run(mac.nest, npu, accumulate=mac.accumulate)
        for held in homes:
            inside = run.managed.get(held.spread.level, 0)
            capacity = self.program.arch.level(held.spread.level).capacity
            top = held.end // held.spread.instances
            if inside and capacity is not None and top + inside > capacity:
                raise SimulationError(
                    f"an instance of {held.spread.level} would hold {top} byte of addressed "
                    f"tiles and {inside} of others, it has {capacity}"
                )

    def _place(self, access: Access, address: int, layout: int, element_bytes: int) -> _Held:
        spread = self.arrays.spread(layout, access.npu, element_bytes)
        tile = _Held(address, layout, spread)
        size = self.program.sizes[access.space]
        if address % spread.instances:
            raise SimulationError(
                f"a tile at {access.space}:{address:#x} does not begin at a multiple of the "
                f"{spread.instances} instances of {spread.level}"
            )
        if tile.end > size:
            raise SimulationError(
                f"a tile needs {spread.part} byte of every instance of {spread.level} from byte "
                f"{address // spread.instances} on, they have {size // spread.instances}"
            )
        held = self._held.setdefault((access.space, access.npu), [])
        held[:] = [other for other in held if other.end <= address or tile.end <= other.address]
        held.append(tile)
        return tile

    def _at(self, access: Access, address: int) -> _Held | None:
        for tile in self._held.get((access.space, access.npu), ()):
            if tile.address == address:
                return tile
        return None

    def _find(self, access: Access, layout: int, address: int) -> _Held:
        found = self._at(access, address)
        if found is None or found.layout != layout:
            raise SimulationError(
                f"no tile of layout {layout} is at {access.space}:{address:#x}: it was never "
                "there, or another took over some of its bytes"
            )
        return found

    def _containing(self, access: Access) -> _Held:
        for tile in self._held.get((access.space, access.npu), ()):
            if tile.address <= access.address < tile.end:
                return tile
        raise SimulationError(
            f"no tile is at {access.space}:{access.address:#x}: it was never there, or another "
            "took over some of its bytes"
        )
