"""What ran when, as a file that Perfetto (ui.perfetto.dev) and chrome://tracing open.

One track per queue, one slice per instruction, named for its operator, and an arrow to each that
could not begin before an instruction of another queue had retired. One microsecond of the trace is
one cycle. The file is written piece by piece.

References:
    Trace Event Format, Google.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TextIO

from ..ir.errors import SimulationError
from ..ir.isa.instructions import Halt, Sync
from ..ir.isa.program import Program
from .result import QueueTimeline, SimulationResult

_LINES = 1 << 12


def write_trace(
    result: SimulationResult, file: TextIO, origins: Mapping[str, Sequence[str]] | None = None
) -> None:
    """Write the trace of a simulation.

    Args:
        result: Of a simulation that kept a trace.
        file: Takes the text.
        origins: What operators come from, by their names, e.g. nodes of an ONNX network.

    Raises:
        SimulationError: The simulation kept no trace.
    """
    if result.timelines is None:
        raise SimulationError("the simulation kept no trace", hint="simulate(..., trace=True)")
    file.write('{"displayTimeUnit": "ms", "traceEvents": [\n')
    name = json.dumps(f"{result.program.name} on {result.program.arch.name}")
    file.write(f'{{"name": "process_name", "ph": "M", "pid": 0, "args": {{"name": {name}}}}}')
    for number, timeline in enumerate(result.timelines):
        file.write(_track(number, result.program.queues[number].name))
        for piece in _slices(result.program, number, timeline, origins or {}):
            file.write(piece)
    for piece in _arrows(result.program, result.timelines):
        file.write(piece)
    file.write("\n]}\n")


def _track(number: int, name: str) -> str:
    place = f'"ph": "M", "pid": 0, "tid": {number}'
    return (
        f',\n{{"name": "thread_name", {place}, "args": {{"name": "{name}"}}}}'
        f',\n{{"name": "thread_sort_index", {place}, "args": {{"sort_index": {number}}}}}'
    )


def _slices(
    program: Program, number: int, timeline: QueueTimeline, origins: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    """Yield pieces of many slices; what only waits is left out.

    A slice ends where the next begins: a ``Mac`` that drains while the next one computes is shown
    up to there.
    """
    operators = [json.dumps(name)[1:-1] for name in program.operators]
    froms = [_from(origins.get(name, ())) for name in program.operators]
    lines: list[str] = []
    stream = program.queues[number].instructions
    times = zip(timeline.starts.tolist(), timeline.shown_ends.tolist(), strict=True)
    for position, (instruction, (start, end)) in enumerate(zip(stream, times, strict=True)):
        if isinstance(instruction, Sync | Halt):
            continue
        kind = type(instruction).__name__.lower()
        operator = operators[instruction.op] if instruction.op >= 0 else kind
        origin = froms[instruction.op] if instruction.op >= 0 else ""
        lines.append(
            f',\n{{"name": "{operator}", "cat": "{kind}", "ph": "X", "pid": 0, "tid": {number}, '
            f'"ts": {start}, "dur": {end - start}, "args": {{"instruction": {position}{origin}}}}}'
        )
        if len(lines) >= _LINES:
            yield "".join(lines)
            lines.clear()
    yield "".join(lines)


class HeldUp(NamedTuple):
    """An instruction that began when another one had retired, and not before.

    Attributes:
        queue: Number of its queue.
        position: Its place there.
        by: Queue and place of the other one.
    """

    queue: int
    position: int
    by: tuple[int, int]


def held_up(program: Program, timelines: Sequence[QueueTimeline]) -> Iterator[HeldUp]:
    """Yield the instructions that waited for another queue longer than for their own.

    What an instruction that only waits has waited for holds up the next one.

    Args:
        program: What ran.
        timelines: When, by queue.
    """
    ends = [timeline.ends.tolist() for timeline in timelines]
    for number, queue in enumerate(program.queues):
        awaited: list[tuple[int, int]] = []
        free = 0
        shown = timelines[number].shown_ends.tolist()
        for position, instruction in enumerate(queue.instructions):
            awaited += [(wait.queue, wait.count - 1) for wait in instruction.waits if wait.count]
            if isinstance(instruction, Sync | Halt):
                continue
            last = max(awaited, key=lambda place: ends[place[0]][place[1]], default=None)
            if last is not None and ends[last[0]][last[1]] > free:
                yield HeldUp(number, position, last)
            awaited, free = [], shown[position]


def _arrows(program: Program, timelines: Sequence[QueueTimeline]) -> Iterator[str]:
    """Yield an arrow for each instruction that was held up, from within the other one's slice."""
    starts = [timeline.starts.tolist() for timeline in timelines]
    ends = [timeline.shown_ends.tolist() for timeline in timelines]
    for number, (queue, position, (by, place)) in enumerate(held_up(program, timelines)):
        if isinstance(program.queues[by].instructions[place], Sync | Halt):
            continue
        leaves = max(starts[by][place], ends[by][place] - 0.5)
        head = f'"name": "waits", "cat": "wait", "id": {number}, "pid": 0'
        yield (
            f',\n{{"ph": "s", {head}, "tid": {by}, "ts": {leaves}}}'
            f',\n{{"ph": "f", "bp": "e", {head}, "tid": {queue}, "ts": {starts[queue][position]}}}'
        )


def _from(origins: Sequence[str]) -> str:
    """Return what a slice says of where its operator comes from."""
    return f', "from": {json.dumps(", ".join(origins))}' if origins else ""
