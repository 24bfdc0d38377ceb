"""Run a program: values, time, races and accounts from one pass over its instructions."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from ..ir.errors import InputError, RaceError, SimulationError
from ..ir.isa.instructions import AnyInstruction, Mac
from ..ir.isa.program import Program, Symbol, SymbolKind
from ..ir.mesh_report import MeshReport
from .accesses import ByteTouch, touches
from .array.arrays import Arrays
from .array.tiles import ArrayTiles
from .checks.placed import Places
from .checks.races import RaceDetector
from .checks.written import WrittenBytes
from .functional.execute import begin
from .functional.machine import NUMPY_TYPES, Machine
from .ledger import Ledger
from .result import QueueTimeline, SimulationResult, read_symbol
from .timing.events import Issue, ProgramTiming, Step, TimingModel, time_of
from .timing.interleaving import random_steps
from .timing.mesh_account import mesh_account
from .timing.over_mesh import Crossed, MeshDemands
from .timing.ports import ports_of

Array: TypeAlias = npt.NDArray[Any]


def simulate(
    program: Program,
    constants: Mapping[str, Array],
    inputs: Mapping[str, Array],
    *,
    detect_races: bool = True,
    trace: bool = False,
    interleaving_seed: int | None = None,
    timing: TimingModel = TimingModel.ANALYTICAL,
) -> SimulationResult:
    """Execute a program.

    Instructions read when they start, and their results are visible from their retirement on, in
    the order of time; a program without races gives the same values in every legal order.

    Args:
        program: What to run.
        constants: Data of every constant symbol, by name.
        inputs: Data of every input symbol, by name.
        detect_races: Whether to look for accesses that no wait orders, and for reads of bytes
            that nothing has written.
        trace: Whether to keep when each instruction ran.
        interleaving_seed: Execute in a random legal order instead; times do not change.
        timing: What says how long transfers take.

    Raises:
        InputError: A tensor is missing, unknown, or has the wrong type or shape.
        RaceError: Two accesses conflict, and nothing orders them.
        OverflowTrap: An accumulator leaves its width.
        SimulationError: An access is out of bounds, queues deadlock, a constant is written, a
            byte is read that nothing has written.
        VerifyError: The program breaks an invariant of its class.
        ArchitectureError: ``timing`` asks for a mesh, and the machine has none that could be timed.
    """
    program.verify()
    # Tiles are small: threads of the linear algebra library cost more than they bring.
    with threadpool_limits(limits=1):
        machine, arrays = Machine(program), Arrays(program)
        _load(program, machine, SymbolKind.CONSTANT, constants)
        _load(program, machine, SymbolKind.INPUT, inputs)
        times, mesh, crossed = _times(program, arrays, timing)
        ledger = Ledger(program, arrays, crossed)
        run = _Run(program, machine, arrays, ledger, detect_races=detect_races, trace=trace)
        return replace(_execute(program, times, run, interleaving_seed), mesh=mesh)


def _times(
    program: Program, arrays: Arrays, timing: TimingModel
) -> tuple[ProgramTiming, MeshReport | None, Sequence[Sequence[Crossed]] | None]:
    """Return when instructions run; over a mesh, also what it was used for, and by which."""
    analytical = time_of(program, arrays=arrays)
    if timing is TimingModel.ANALYTICAL:
        return analytical, None, None
    demands = MeshDemands(program, ports_of(program.arch), arrays)
    works = [demands.queue(number) for number in range(len(program.queues))]
    times = time_of(program, works, ports=demands.ports)
    crossed = demands.crossed(works)
    return times, mesh_account(demands, works, crossed, times, analytical), crossed


def _execute(
    program: Program, times: ProgramTiming, run: "_Run", seed: int | None
) -> SimulationResult:
    """Execute all instructions in the order of time, or in a random legal one."""
    steps = times.steps if seed is None else random_steps(program, seed)
    with np.errstate(over="ignore", invalid="ignore"):  # infinities are values as others
        for step in steps:
            if step.retires:
                run.retire(step)
            else:
                run.begin(times.queues[step.queue][step.position])
    return run.result()


class _Run:
    """One execution under way."""

    def __init__(
        self,
        program: Program,
        machine: Machine,
        arrays: Arrays,
        ledger: Ledger,
        *,
        detect_races: bool,
        trace: bool,
    ) -> None:
        self._program = program
        self._machine = machine
        self._streams = [queue.instructions for queue in program.queues]
        self._ledger = ledger
        self._tiles = ArrayTiles(program, arrays)
        self._judges = _Judges(program, machine) if detect_races else None
        self._times: list[list[int]] | None = [[] for _ in self._streams] if trace else None
        self._cycles = 0

    def begin(self, issue: Issue) -> None:
        """Let an instruction read and compute.

        Raises:
            SimulationError: It does something forbidden; says where it stands.
        """
        queue = issue.queue
        instruction = self._streams[queue][issue.position]
        try:
            self._account(issue, instruction)
            self._tiles.observe(self._program.queues[queue].index, instruction)
            begin(self._machine.ports[queue], instruction)
        except RaceError:
            raise
        except SimulationError as error:
            if self._judges is not None:
                self._judges.finish()  # a race is the cause of what follows from it
            where = self._program.where(queue, issue.position)
            raise type(error)(f"{where}: {error.message}") from error
        self._cycles = max(self._cycles, issue.end)
        if self._times is not None:
            self._times[queue] += (issue.start, issue.end)

    def retire(self, step: Step) -> None:
        """Make the result of an instruction visible."""
        self._machine.ports[step.queue].pending.retire()

    def _account(self, issue: Issue, instruction: AnyInstruction) -> None:
        unit = self._program.queues[issue.queue].unit
        needed = self._judges is not None or not isinstance(instruction, Mac)
        touched = touches(instruction) if needed else ()
        self._ledger.record(unit, instruction, touched, issue)
        if self._judges is not None:
            self._judges.observe(issue, touched)

    def result(self) -> SimulationResult:
        """Return what was found, once all instructions have run.

        Raises:
            RaceError: Two of the last accesses conflict, and nothing orders them.
        """
        if self._judges is not None:
            self._judges.finish()
        dram = self._machine.dram
        return SimulationResult(
            program=self._program,
            outputs={
                symbol.name: read_symbol(dram, symbol)
                for symbol in self._program.symbols
                if symbol.kind is SymbolKind.OUTPUT
            },
            cycles=self._cycles,
            operators=self._ledger.accounts(),
            overhead=self._ledger.overhead(),
            total=self._ledger.total(),
            stored=frozenset(self._ledger.stored),
            timelines=self._timelines(),
            dram=dram,
        )

    def _timelines(self) -> tuple[QueueTimeline, ...] | None:
        if self._times is None:
            return None
        arrays = [np.asarray(times, np.int64) for times in self._times]
        return tuple(QueueTimeline(array[::2], array[1::2]) for array in arrays)


class _Judges:
    """All that looks at every touched byte."""

    def __init__(self, program: Program, machine: Machine) -> None:
        self._places = Places(machine.memories)
        self._races = RaceDetector(program, self._places)
        self._written = WrittenBytes(program, self._places.memories)

    def observe(self, issue: Issue, touched: Sequence[ByteTouch]) -> None:
        """Take account of an instruction.

        Raises:
            RaceError: It conflicts with an earlier one, and nothing orders them.
            SimulationError: It reads a byte that nothing has written.
        """
        touched_before = len(self._places.touched)
        self._races.observe(issue.queue, issue.position, self._places.of(touched))
        if len(self._places.touched) > touched_before:
            self._written.observe(self._places.touched[touched_before:])

    def finish(self) -> None:
        """Look at what was observed and not looked at yet.

        Raises:
            RaceError: Two accesses conflict, and nothing orders them.
        """
        self._races.finish()


def _load(
    program: Program, machine: Machine, kind: SymbolKind, tensors: Mapping[str, Array]
) -> None:
    symbols = [symbol for symbol in program.symbols if symbol.kind is kind]
    unknown = set(tensors) - {symbol.name for symbol in symbols}
    if unknown:
        expected = ", ".join(symbol.name for symbol in symbols) or "none"
        raise InputError(
            f"{program.name} has no {kind} {min(unknown)!r}", hint=f"{kind}s: {expected}"
        )
    for symbol in symbols:
        if symbol.name not in tensors:
            raise InputError(f"{kind} {symbol.name!r} ({symbol.type}) is missing")
        _store(machine, symbol, np.asarray(tensors[symbol.name]))


def _store(machine: Machine, symbol: Symbol, tensor: Array) -> None:
    expected = NUMPY_TYPES[symbol.type.dtype]
    if tensor.dtype != expected or tensor.shape != symbol.type.shape:
        raise InputError(
            f"{symbol.kind} {symbol.name!r} is {tensor.dtype}{list(tensor.shape)}, must be "
            f"{expected}{list(symbol.type.shape)}"
        )
    content = np.ascontiguousarray(tensor).reshape(-1).view(np.uint8)
    if symbol.address + content.size > machine.dram.size:
        raise SimulationError(f"{symbol.name!r} lies outside of dram")
    machine.dram[symbol.address : symbol.address + content.size] = content
