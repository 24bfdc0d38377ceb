"""When instructions run: discrete events over queues, waits and ports that queues share.

A queue ``ld``, ``st``, ``vx`` or ``dma`` issues its next instruction when the one before has
retired. Behind the MAC array's buffers stand copies of them, so ``mx`` issues when the one before
has begun to compute: filling the buffers hides behind that, and draining behind the next one.
Waits of other queues are on retirement.

An instruction's data phase has a length, its work's longest demand on engine or port. While the
active instructions ask no port for more than it has, each takes its length. Otherwise rates are
shared fairly (``sharing.py``) and change only when a data phase begins or ends. Phases begin and
end at whole cycles: the last cycle of a data phase counts whole.

Time does not depend on values: a program is timed first and executed afterwards.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from heapq import heappop, heappush
from typing import NamedTuple

from ...ir.errors import SimulationError
from ...ir.isa.instructions import Unit, Wait
from ...ir.isa.program import Program
from ..array.arrays import Arrays
from ..result import PortStall
from .contention import Contention
from .demands import Demand, Demands
from .over_mesh import MeshDemands
from .ports import PortTable, ports_of


class TimingModel(StrEnum):
    """How long transfers take: as bandwidths say, or over the mesh and the memory behind it."""

    ANALYTICAL = "analytical"
    NETWORK = "network"


class Step(NamedTuple):
    """One instruction that reads its operands, or whose result becomes visible.

    Attributes:
        queue: Number of its queue.
        position: Its position there.
        retires: Whether it retires; else it begins.
    """

    queue: int
    position: int
    retires: bool


class Issue(NamedTuple):
    """When one instruction runs.

    Attributes:
        queue: Number of its queue.
        position: Its position there.
        start: When it issues, on ``mx`` when it begins to compute: it reads then [cycle].
        end: When it retires: its result is visible from then on [cycle].
        busy: Cycles from its start to its end in which none before it in its queue worked.
        stalls: Cycles beyond those that it would take alone, by the port that held it up.
    """

    queue: int
    position: int
    start: int
    end: int
    busy: int
    stalls: tuple[PortStall, ...] = ()


@dataclass(frozen=True, slots=True)
class ProgramTiming:
    """When a program's instructions run.

    Attributes:
        queues: Per queue, one entry per instruction, in order.
        steps: All beginnings and retirements in the order of their times, causes before effects;
            at one time retirements come first.
    """

    queues: tuple[tuple[Issue, ...], ...]
    steps: tuple[Step, ...]


def time_of(
    program: Program,
    work: Sequence[Sequence[Demand]] | None = None,
    arrays: Arrays | None = None,
    timing: TimingModel = TimingModel.ANALYTICAL,
    ports: PortTable | None = None,
    waits: Sequence[Sequence[Sequence[Wait]]] | None = None,
) -> ProgramTiming:
    """Return when the instructions of a program run.

    Args:
        program: What to run.
        work: What each instruction asks for, by queue, instead of what the machine says.
        arrays: What descriptors do on the machine, where that is known already.
        timing: What says how long transfers take.
        ports: The ports that ``work`` is for, where these are not the machine's own.
        waits: What each of ``work`` waits for, by queue, instead of what the program says; then it
            may be the work of a part of the program.

    Raises:
        ArchitectureError: The machine has no mesh that could be timed.
        SimulationError: The queues wait for each other; says what each waits for. Or an access
            has no shape.
    """
    ports = ports or ports_of(program.arch)
    if work is None:
        demands = demands_of(program, arrays or Arrays(program), timing)
        work = [demands.queue(number) for number in range(len(program.queues))]
        ports = demands.ports
    events = _Events(
        program, work, _waits_of(program) if waits is None else waits, Contention(ports)
    )
    events.run()
    if any(line.retired < len(line.ends) for line in events.lines):
        raise SimulationError(_deadlock(program, [line.retired for line in events.lines]))
    return ProgramTiming(tuple(_issues(line) for line in events.lines), tuple(events.steps))


def demands_of(program: Program, arrays: Arrays, timing: TimingModel) -> Demands:
    """Return the work of a program's instructions.

    Args:
        program: The program.
        arrays: What its descriptors do on the machine.
        timing: What says how long transfers take.

    Raises:
        ArchitectureError: The machine has no mesh that could be timed.
    """
    ports = ports_of(program.arch)
    if timing is TimingModel.NETWORK:
        return MeshDemands(program, ports, arrays)
    return Demands(program, ports, arrays)


class _Kind(IntEnum):
    """What happens; at one time in this order."""

    RETIRE = 0
    DATA_ENDS = 1
    READY = 2
    MAC_READY = 3  # it reads now, so after all that retires
    ISSUE = 4


class _Line:
    """One queue under way.

    Attributes:
        number: Of the queue.
        work: What each instruction asks for.
        pipelined: Whether fill and drain hide behind the neighbours.
        ready_kind: What happens when fill and start-up are over.
        starts: Per instruction, when it begins to read [cycle].
        ends: Per instruction, when it retires [cycle].
        stalls: Per instruction that was held up, by which port for how long.
        issued: Instructions that were issued.
        ready: Instructions that are past fill and start-up.
        computed: Instructions whose data phase has ended.
        retired: Instructions that have retired.
        is_computing: Whether a data phase is under way.
    """

    def __init__(self, number: int, unit: Unit, work: Sequence[Demand]) -> None:
        self.number = number
        self.work = work
        self.pipelined = unit is Unit.MX
        self.ready_kind = _Kind.MAC_READY if self.pipelined else _Kind.READY
        self.starts = [0] * len(work)
        self.ends = [0] * len(work)
        self.stalls: dict[int, tuple[PortStall, ...]] = {}
        self.issued = self.ready = self.computed = self.retired = 0
        self.is_computing = False

    @property
    def may_issue(self) -> bool:
        """Whether the queue is free for its next instruction."""
        if self.issued == len(self.work):
            return False
        begun = self.computed + self.is_computing if self.pipelined else self.retired
        return begun == self.issued


class _Events:
    """The events of a run, in the order of time."""

    def __init__(
        self,
        program: Program,
        work: Sequence[Sequence[Demand]],
        waits: Sequence[Sequence[Sequence[Wait]]],
        contention: Contention,
    ) -> None:
        self.lines = [
            _Line(number, queue.unit, work[number]) for number, queue in enumerate(program.queues)
        ]
        self.steps: list[Step] = []
        self._waits = waits
        self._watchers: list[list[tuple[int, _Line]]] = [[] for _ in self.lines]
        self._contention = contention
        self._heap: list[tuple[int, _Kind, int]] = []

    def run(self) -> None:
        """Let all queues run until none can go on."""
        for line in self.lines:
            if line.may_issue:
                self._offer(line, 0)
        while True:
            time = self._next()
            if time is None:
                return
            for queue in self._contention.finished(time):
                heappush(self._heap, (time, _Kind.DATA_ENDS, queue))
            while self._heap and self._heap[0][0] == time:
                _, kind, queue = heappop(self._heap)
                self._happen(kind, self.lines[queue], time)
            self._contention.share(time)

    def _next(self) -> int | None:
        times = [self._heap[0][0]] if self._heap else []
        finish = self._contention.next_finish
        if finish is not None:
            times.append(finish)
        return min(times, default=None)

    def _happen(self, kind: _Kind, line: _Line, time: int) -> None:
        match kind:
            case _Kind.ISSUE:
                self._issue(line, time)
            case _Kind.READY | _Kind.MAC_READY:
                self._compute(line, time)
            case _Kind.DATA_ENDS:
                self._end_data(line, time)
            case _Kind.RETIRE:
                self._retire(line, time)

    def _offer(self, line: _Line, time: int) -> None:
        """Issue a queue's next instruction if nothing holds it back, else let it watch."""
        for wait in self._waits[line.number][line.issued]:
            if self.lines[wait.queue].retired < wait.count:
                self._watchers[wait.queue].append((wait.count, line))
                return
        heappush(self._heap, (time, _Kind.ISSUE, line.number))

    def _issue(self, line: _Line, time: int) -> None:
        work = line.work[line.issued]
        if not line.pipelined:
            self._begin(line, line.issued, time)
        line.issued += 1
        heappush(self._heap, (time + work.fill + work.lead, line.ready_kind, line.number))

    def _begin(self, line: _Line, position: int, time: int) -> None:
        line.starts[position] = time
        self.steps.append(Step(line.number, position, retires=False))

    def _compute(self, line: _Line, time: int) -> None:
        """Begin the data phase of an instruction that is ready, once the one before has ended."""
        if line.ready < line.issued:
            line.ready += 1
        if line.is_computing:
            return
        position = line.computed
        line.is_computing = True
        if line.pipelined:
            self._begin(line, position, time)
        if not self._contention.begin(line.number, line.work[position], time):
            heappush(self._heap, (time, _Kind.DATA_ENDS, line.number))
        if line.pipelined and line.may_issue:
            self._offer(line, time)

    def _end_data(self, line: _Line, time: int) -> None:
        position = line.computed
        line.is_computing = False
        line.computed += 1
        stalls = self._contention.end(line.number, time)
        if stalls:
            line.stalls[position] = stalls
        if line.pipelined and line.computed < line.ready:
            heappush(self._heap, (time, line.ready_kind, line.number))
        self._leave(line, position, time)

    def _leave(self, line: _Line, position: int, time: int) -> None:
        before = line.ends[position - 1] if position else 0
        end = line.ends[position] = max(time + line.work[position].drain, before)
        if end == time:
            self._retire(line, time)
        else:
            heappush(self._heap, (end, _Kind.RETIRE, line.number))

    def _retire(self, line: _Line, time: int) -> None:
        self.steps.append(Step(line.number, line.retired, retires=True))
        line.retired += 1
        if not line.pipelined and line.may_issue:
            self._offer(line, time)
        self._wake(line, time)

    def _wake(self, line: _Line, time: int) -> None:
        watchers = self._watchers[line.number]
        met = [other for count, other in watchers if count <= line.retired]
        if met:
            watchers[:] = [entry for entry in watchers if entry[0] > line.retired]
        for other in met:
            self._offer(other, time)


def _waits_of(program: Program) -> list[list[Sequence[Wait]]]:
    return [[item.waits for item in queue.instructions] for queue in program.queues]


def _issues(line: _Line) -> tuple[Issue, ...]:
    times = enumerate(zip(line.starts, line.ends, (0, *line.ends), strict=False))
    return tuple(
        Issue(line.number, n, start, end, end - max(start, before), line.stalls.get(n, ()))
        for n, (start, end, before) in times
    )


def _deadlock(program: Program, retired: Sequence[int]) -> str:
    lines = ["deadlock: no queue can go on"]
    for number, queue in enumerate(program.queues):
        position = retired[number]
        if position == len(queue.instructions):
            continue
        instruction = queue.instructions[position]
        unmet = ", ".join(
            _unmet(program, retired, wait)
            for wait in instruction.waits
            if retired[wait.queue] < wait.count
        )
        kind = type(instruction).__name__.lower()
        lines.append(f"  {queue.name}[{position}] {kind} waits for {unmet}")
    return "\n".join(lines)


def _unmet(program: Program, retired: Sequence[int], wait: Wait) -> str:
    done = retired[wait.queue]
    return f"{program.queues[wait.queue].name} >= {wait.count} (is {done})"
