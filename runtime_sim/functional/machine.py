"""The memories of a machine, and what each queue may reach of them."""

import math
from collections import deque
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ...ir.errors import SimulationError
from ...ir.isa.instructions import Access, Space, Unit
from ...ir.isa.program import Program, Queue
from ...ir.types import DType
from .region import check_form, strided_region

Array: TypeAlias = npt.NDArray[Any]

GUARD = 8
"""Bytes before and after each memory that 24-bit loads may read but never use."""

POISON = 0xCD
"""What on-chip memory holds before anything is written."""

NUMPY_TYPES: Mapping[DType, np.dtype[Any]] = {
    DType.F32: np.dtype("<f4"),
    DType.F64: np.dtype("<f8"),
    DType.S8: np.dtype("i1"),
    DType.U8: np.dtype("u1"),
    DType.S16: np.dtype("<i2"),
    DType.U16: np.dtype("<u2"),
    DType.S32: np.dtype("<i4"),
    DType.U32: np.dtype("<u4"),
    DType.S64: np.dtype("<i8"),
    DType.U64: np.dtype("<u8"),
    DType.BOOL: np.dtype("?"),
}
"""NumPy's name of each element type."""

F32 = NUMPY_TYPES[DType.F32]
S32 = NUMPY_TYPES[DType.S32]
BYTE = NUMPY_TYPES[DType.U8]
_U16 = NUMPY_TYPES[DType.U16]
_TRIPLE = np.dtype("V3")


@dataclass(frozen=True, slots=True)
class Memory:
    """One address space of one NPU, or a shared one.

    Attributes:
        space: Which space.
        npu: Whose; 0 if shared.
        guarded: The bytes with ``GUARD`` bytes on either side.
        bytes: The bytes that exist.
    """

    space: Space
    npu: int
    guarded: npt.NDArray[np.uint8]
    bytes: npt.NDArray[np.uint8]

    @property
    def name(self) -> str:
        """Name in messages, e.g. ``gb`` or ``ab1``."""
        return self.space.value if self.space.is_shared else f"{self.space.value}{self.npu}"

    @classmethod
    def create(cls, space: Space, npu: int, size: int) -> "Memory":
        """Return a memory of ``size`` bytes: zeros off chip, poison on chip.

        Args:
            space: Address space.
            npu: Whose, 0 where all share it.
            size: [byte].
        """
        if space is Space.DRAM:
            guarded = np.zeros(size + 2 * GUARD, np.uint8)
        else:
            guarded = np.full(size + 2 * GUARD, POISON, np.uint8)
        return cls(space, npu, guarded, guarded[GUARD : GUARD + size])


Result: TypeAlias = tuple[Array, Array]
"""Elements in memory, and what they become."""


class PendingResults:
    """The results of one queue's instructions between beginning and retirement, in order."""

    def __init__(self) -> None:
        self._instructions: deque[list[Result]] = deque()

    @contextmanager
    def next_instruction(self) -> Generator[None, None, None]:
        """Let the next instruction of the queue execute: it sees what those before it made."""
        before = [result for results in self._instructions for result in results]
        hidden = [(target, target.copy()) for target, _ in before]
        _write(before)
        self._instructions.append([])
        try:
            yield
        finally:
            # each copy was made before any was written, so the order does not matter
            _write(hidden)

    def buffer_for(self, target: Array) -> Array:
        """Return an array to fill, which becomes the content of ``target`` at retirement."""
        values = np.empty(target.shape, target.dtype)
        self.put(target, values)
        return values

    def put(self, target: Array, values: Array) -> None:
        """Let ``values``, which nobody changes, become the content of ``target`` at retirement."""
        self._instructions[-1].append((target, values))

    def retire(self) -> None:
        """Make the results of the oldest instruction visible."""
        _write(self._instructions.popleft())


def _write(results: list[Result]) -> None:
    for target, values in results:
        target[...] = values


@dataclass(frozen=True, slots=True)
class QueuePort:
    """What one queue sees of the machine.

    Attributes:
        reach: The memories that it may access.
        pending: Results of its instructions that are not visible yet.
        plans: Prepared geometry of instructions, by whatever the instruction's code chooses.
        buffers: Scratch arrays of the simulator itself, by purpose.

    Args:
        access: Where.
        shape: Extents of the loops.
        dtype: Element type.
        size: Of one element [byte].
        values: What is written.
        purpose: What a buffer is for.
    """

    reach: Mapping[tuple[Space, int], Memory]
    pending: PendingResults = field(default_factory=PendingResults)
    plans: dict[object, Any] = field(default_factory=dict[object, Any])
    buffers: dict[str, Array] = field(default_factory=dict[str, Array])

    def view(self, access: Access, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """Return the elements of an access.

        Raises:
            SimulationError: The access leaves its space, or the queue cannot reach it.
        """
        try:
            memory = self.reach[access.space, access.npu]
            return np.ndarray(shape, dtype, memory.bytes, access.address, access.strides)
        except (KeyError, ValueError) as error:
            raise self.fault(access, shape, dtype.itemsize) from error

    def target(self, access: Access, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """Return an array to fill, which an access's elements hold once the instruction retires.

        Raises:
            SimulationError: As :meth:`view`, or an element would be written more than once.
        """
        if 0 in access.strides:
            check_single_writes(shape, access.strides)
        return self.pending.buffer_for(self.view(access, shape, dtype))

    def load_accumulators(self, access: Access, shape: tuple[int, ...], size: int) -> Array:
        """Return accumulators of 3 or 4 bytes as int32 (a view, if they have 4)."""
        if size == 4:
            return self.view(access, shape, S32)
        self.view(access, shape, _TRIPLE)
        memory = self.reach[access.space, access.npu]
        start = GUARD + access.address - 1
        return np.ndarray(shape, S32, memory.guarded, start, access.strides) >> 8

    def store_accumulators(
        self, access: Access, shape: tuple[int, ...], size: int, values: Array
    ) -> None:
        """Write int32 values, which must be in range, to accumulators of 3 or 4 bytes.

        Nobody may change ``values`` afterwards.
        """
        if 0 in access.strides:
            check_single_writes(shape, access.strides)
        if size == 4:
            self.pending.put(self.view(access, shape, S32), values)
            return
        self.view(access, shape, _TRIPLE)
        memory = self.reach[access.space, access.npu].bytes
        dense = np.ascontiguousarray(values.reshape(shape), S32)
        low = np.ndarray(shape, _U16, memory, access.address, access.strides)
        high = np.ndarray(shape, BYTE, memory, access.address + 2, access.strides)
        self.pending.put(low, dense.view(_U16).reshape(*shape, 2)[..., 0])
        self.pending.put(high, dense.view(BYTE).reshape(*shape, 4)[..., 2])

    def buffer(self, purpose: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """Return a scratch array that is reused for every request of this purpose and type."""
        size = math.prod(shape)
        key = purpose + dtype.str
        held = self.buffers.get(key)
        if held is None or held.size < size:
            held = self.buffers[key] = np.empty(max(size, 4096), dtype)
        return held[:size].reshape(shape)

    def fault(self, access: Access, shape: tuple[int, ...], size: int) -> SimulationError:
        """Return the error that says what is wrong with an access."""
        memory = self.reach.get((access.space, access.npu))
        where = f"{access.space}:{access.address:#x}"
        if memory is None:
            return SimulationError(f"access to {where} of npu {access.npu} is out of reach")
        try:
            check_form(access, shape)
        except SimulationError as error:
            return error
        region = strided_region(shape, access.strides, size)
        return out_of_bounds(memory, access.address + region.low, access.address + region.high)


def out_of_bounds(memory: Memory, low: int, high: int) -> SimulationError:
    """Return the error that an access to bytes ``low .. high-1`` leaves its memory.

    Args:
        memory: Whose bytes they are not.
        low: First byte.
        high: Behind the last byte.
    """
    return SimulationError(
        f"access to bytes {low}..{high - 1} of {memory.name}, which has {memory.bytes.size}"
    )


class Machine:
    """All memories of a program's machine, and a port for each of its queues."""

    def __init__(self, program: Program) -> None:
        npus = len(program.arch.npus)
        self.memories: dict[tuple[Space, int], Memory] = {
            (item.space, npu): Memory.create(item.space, npu, item.bytes)
            for item in program.spaces
            for npu in range(1 if item.space.is_shared else npus)
        }
        plans: dict[object, Any] = {}
        buffers: dict[str, Array] = {}
        self.ports = tuple(
            QueuePort(self._reach(queue), plans=plans, buffers=buffers) for queue in program.queues
        )

    def _reach(self, queue: Queue) -> dict[tuple[Space, int], Memory]:
        """A DMA engine reaches every memory, the queues of an NPU shared ones and their own."""
        return {
            (space, npu): memory
            for (space, npu), memory in self.memories.items()
            if queue.unit is Unit.DMA or space.is_shared or npu == queue.index
        }

    @property
    def dram(self) -> npt.NDArray[np.uint8]:
        """Off-chip memory."""
        return self.memories[Space.DRAM, 0].bytes


@lru_cache(maxsize=1 << 14)
def check_single_writes(shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    """Check that a write meets no element twice by standing still in a loop.

    Raises:
        SimulationError: It does.
    """
    loops = zip(shape, strides, strict=False)
    if any(stride == 0 and extent > 1 for extent, stride in loops):
        raise SimulationError(
            f"write with extents {shape} and strides {strides} meets an element more than once"
        )
