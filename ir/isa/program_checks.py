"""Whether a program is one for its machine: spaces, accesses, queues and descriptors.

What instructions do to memory, and whether the array can run a descriptor, is the simulator's to
judge; here stands what can be read off the program itself.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache

from ..arch import Architecture
from ..errors import VerifyError
from ..mapping import LoopNest
from ..workload import Operand
from .instructions import (
    Access,
    Activate,
    AnyInstruction,
    Copy,
    Fill,
    Instruction,
    Mac,
    Requant,
    Space,
    Unit,
)
from .spaces import level_of_space, space_bytes


def verify_spaces(arch: Architecture, sizes: Mapping[Space, int]) -> None:
    """Check that the on-chip spaces have the sizes of the machine's memories.

    Raises:
        VerifyError: Names the space.
    """
    expected = space_bytes(arch)
    for space in Space:
        if space is not Space.DRAM and sizes.get(space, 0) != expected.get(space, 0):
            raise VerifyError(
                f"{space} has {sizes.get(space, 0)} byte, on {arch.name} it has "
                f"{expected.get(space, 0)}"
            )


class MachineChecks:
    """Checks single instructions; local to one verification.

    Attributes:
        arch: The machine.
        sizes: Size of each address space [byte].
        nests: The program's descriptors and layouts.
    """

    def __init__(
        self, arch: Architecture, sizes: Mapping[Space, int], nests: Sequence[LoopNest]
    ) -> None:
        self.arch = arch
        self.sizes = sizes
        self.nests = nests
        self._levels = level_of_space(arch)

    def verify(self, unit: Unit, index: int, instruction: AnyInstruction) -> None:
        """Check one instruction of a queue.

        Args:
            unit: Kind of the queue.
            index: Its DMA channel or NPU.
            instruction: The instruction.

        Raises:
            VerifyError: Says what is wrong, not where the instruction stands.
        """
        npu = None if unit is Unit.DMA else index
        for name in access_fields(type(instruction)):
            access = getattr(instruction, name)
            if access is not None:
                self._verify_access(name, access, npu)
        match instruction:
            case Mac():
                self._verify_mac(instruction)
            case Copy():
                inside = [
                    access
                    for access in (instruction.dst, instruction.src)
                    if access.space in (Space.WB, Space.AB)
                ]
                self._verify_layout(instruction.layout, inside[:1], instruction.element_bytes)
            case Fill() if instruction.dst.space in (Space.WB, Space.AB):
                raise VerifyError(f"fill cannot reach {instruction.dst.space}: it has no layout")
            case Requant():
                self._verify_sums(instruction.layout, instruction.acc, instruction.acc_bytes)
            case Activate():
                self._verify_sums(instruction.layout, instruction.src, 4)
            case _:
                pass

    def _verify_access(self, name: str, access: Access, npu: int | None) -> None:
        space = access.space
        if space not in self.sizes:
            raise VerifyError(f"{name}: {self.arch.name} has no {space}")
        if not 0 <= access.address < max(1, self.sizes[space]):
            raise VerifyError(
                f"{name} begins at {access.address}, {space} has {self.sizes[space]} byte"
            )
        if space.is_shared:
            if access.npu != 0:
                raise VerifyError(f"{name}: all NPUs share {space}, it is of none")
        elif not 0 <= access.npu < len(self.arch.npus):
            raise VerifyError(f"{name}: there is no NPU {access.npu}")
        elif npu is not None and access.npu != npu:
            raise VerifyError(f"{name}: NPU {npu} cannot reach {space} of NPU {access.npu}")

    def _nest(self, number: int, what: str) -> LoopNest:
        if not 0 <= number < len(self.nests):
            raise VerifyError(f"{what} {number} does not exist, there are {len(self.nests)}")
        return self.nests[number]

    def _verify_mac(self, mac: Mac) -> None:
        nest = self._nest(mac.nest, "nest")
        work = nest.workload
        if tuple(work.dims.values()) != mac.extents:
            raise VerifyError(f"nest {mac.nest} is for {work}, not for extents {mac.extents}")
        window = mac.window
        if (work.stride, work.dilation) != (window.stride, window.dilation):
            raise VerifyError(f"nest {mac.nest} steps over its input in another way")
        if mac.acc_bytes != math.ceil(self.arch.accumulator_bits / 8):
            raise VerifyError(
                f"sums of {mac.acc_bytes} byte, {self.arch.name} has "
                f"{self.arch.accumulator_bits} bit"
            )
        widths = (work.weight_bits, work.input_bits, work.output_bits)
        own = (8 * mac.w_dtype.bytes, 8 * mac.x_dtype.bytes, 8 * mac.acc_bytes)
        if widths != own:
            raise VerifyError(f"nest {mac.nest} has widths {widths}, its operands {own} bit")
        for operand, access in ((Operand.W, mac.w), (Operand.I, mac.x), (Operand.O, mac.acc)):
            chain = nest.of(operand)
            if not chain or chain[0].level != self._levels.get(access.space):
                raise VerifyError(f"nest {mac.nest} does not take {operand} from {access.space}")
        self._verify_sums(mac.layout, mac.acc, mac.acc_bytes)
        if mac.layout >= 0 and not 0 <= mac.tile <= mac.acc.address:
            raise VerifyError(f"sums at {mac.acc.address} lie before their tile at {mac.tile}")

    def _verify_sums(self, layout: int, access: Access, element_bytes: int) -> None:
        inside = [access] if access.space is Space.AB else []
        self._verify_layout(layout, inside, element_bytes)

    def _verify_layout(self, layout: int, inside: Sequence[Access], element_bytes: int) -> None:
        """Check that a tile in a memory of the array, and no other, has a layout for it."""
        if not inside:
            if layout != -1:
                raise VerifyError(f"layout {layout} is for nothing: no side is wb or ab")
            return
        space = inside[0].space
        nest = self._nest(layout, "layout")
        if [item.level for item in nest.allocations] != [self._levels[space]]:
            raise VerifyError(f"layout {layout} is not one of {space}")
        operand = Operand.W if space is Space.WB else Operand.O
        if nest.allocations[0].operand is not operand:
            raise VerifyError(f"layout {layout} is not one of {operand}")
        if operand is Operand.W and nest.workload.weight_bits != 8 * element_bytes:
            raise VerifyError(f"layout {layout} is for {nest.workload.weight_bits} bit")


@cache
def access_fields(kind: type[Instruction]) -> tuple[str, ...]:
    """Return the names of the fields of an instruction that are accesses."""
    return tuple(item.name for item in fields(kind) if item.type in (Access, Access | None))
