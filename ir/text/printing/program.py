"""The text of a program, its assembly: a section of a module, or a file of its own."""

from collections.abc import Iterator, Sequence

from ...isa.instructions import AnyInstruction
from ...isa.program import Program, Queue
from .records import print_fields, print_instruction
from .words import word

_LINES = 1 << 12
"""Lines of one piece."""


def print_program(program: Program) -> Iterator[str]:
    """Yield the text of a program in pieces; comments tell queues and operators by their names.

    ::

        program net {
          ...
          queues = [
            {  // 0: dma0
              unit = dma
              index = 0
              instructions = code {
                // conv1
                copy {op = 0, dst = gb.0+0[1], src = dram.0+0[1], shape = [90], element_bytes = 1}
                halt {}
              }
            },
          ]
        }
    """
    head = print_fields(program, "  ", frozenset({"name", "queues"}))
    yield f"program {word(program.name)} {{\n{head}  queues = [\n"
    for number, queue in enumerate(program.queues):
        own = print_fields(queue, "      ", frozenset({"instructions"}))
        yield f"    {{  // {number}: {queue.name}\n{own}      instructions = code {{\n"
        yield from _stream(queue, program.operators)
        yield "      }\n    },\n"
    yield "  ]\n}\n"


def _stream(queue: Queue, operators: Sequence[str]) -> Iterator[str]:
    lines: list[str] = []
    before = -1
    for instruction in queue.instructions:
        if instruction.op != before:
            before = instruction.op
            lines.append(f"        // {_operator(instruction, operators)}\n")
        lines.append(f"        {print_instruction(instruction)}\n")
        if len(lines) >= _LINES:
            yield "".join(lines)
            lines.clear()
    yield "".join(lines)


def _operator(instruction: AnyInstruction, operators: Sequence[str]) -> str:
    known = 0 <= instruction.op < len(operators)
    return word(operators[instruction.op]) if known else "no operator"
