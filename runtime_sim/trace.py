"""What ran when, as a file that Perfetto (ui.perfetto.dev) and chrome://tracing open.

One track per queue, one slice per instruction, named for its operator. One microsecond of the
trace is one cycle. The file is written piece by piece.

References:
    Trace Event Format, Google.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TextIO

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


def _from(origins: Sequence[str]) -> str:
    """Return what a slice says of where its operator comes from."""
    return f', "from": {json.dumps(", ".join(origins))}' if origins else ""
