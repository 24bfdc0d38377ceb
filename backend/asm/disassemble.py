"""Programs as assembly text, for people and tests."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, TextIO, cast

from ...ir.arch import Architecture
from ...ir.isa import AnyInstruction, Wait
from ...ir.program import Program
from .spelling import spell, spell_arguments

_COMMON = frozenset({"waits"})
_NAMED = frozenset({"name"})
_LINES = 1 << 12


def disassemble(program: Program) -> str:
    """Return a program as text that ``assemble`` reads back exactly."""
    return "".join(_text(program))


def write_assembly(program: Program, file: TextIO) -> None:
    """Write a program as text, piece by piece."""
    for piece in _text(program):
        file.write(piece)


def _text(program: Program) -> Iterator[str]:
    yield f".program {spell(program.name)}\n\n.arch {spell(program.arch.name)}\n"
    yield from _arch(program.arch)
    yield "\n"
    for item in program.spaces:
        yield f".space {item.space.value} bytes={item.bytes}\n"
    for symbol in program.symbols:
        yield f".symbol {spell(symbol.name)} {spell_arguments(type(symbol), _NAMED)(symbol)}\n"
    for number, name in enumerate(program.operators):
        yield f".operator {spell(name)} ; {number}\n"
    for number, nest in enumerate(program.nests):
        yield f".nest n{number} {spell_arguments(type(nest))(nest)}\n"
    names = queue_names(program)
    for number, queue in enumerate(program.queues):
        yield f"\n.queue {queue.name} ; {number}\n"
        yield from _stream(program, queue.instructions, names)


def queue_names(program: Program) -> list[str]:
    """Return how waits name each queue: its number where two have one name."""
    names = [queue.name for queue in program.queues]
    return [name if names.count(name) == 1 else str(number) for number, name in enumerate(names)]


def _arch(arch: Architecture) -> Iterator[str]:
    for item in fields(arch):
        content = getattr(arch, item.name)
        if item.name == "name" or content == item.default:
            continue
        if isinstance(content, tuple) and content and is_dataclass(cast("Any", content)[0]):
            records = cast("tuple[object, ...]", content)
            rows = ",\n".join(f"    {spell(record)}" for record in records)
            yield f"  {item.name}=(\n{rows})\n"
        else:
            yield f"  {item.name}={spell(cast('object', content))}\n"


def _stream(
    program: Program, instructions: tuple[AnyInstruction, ...], names: list[str]
) -> Iterator[str]:
    """Yield pieces of many lines; a comment says where another operator begins."""
    lines: list[str] = []
    operator = -1
    for instruction in instructions:
        if instruction.op != operator:
            operator = instruction.op
            known = 0 <= operator < len(program.operators)
            lines.append(f"  ; {program.operators[operator] if known else 'no operator'}\n")
        lines.append(_line(instruction, names))
        if len(lines) >= _LINES:
            yield "".join(lines)
            lines.clear()
    yield "".join(lines)


def _line(instruction: AnyInstruction, names: list[str]) -> str:
    kind = type(instruction)
    own = spell_arguments(kind, _COMMON)(instruction)
    parts = [f"  {kind.__name__.lower()}", *([own] if own else [])]
    if instruction.waits:
        parts.append(_waits(instruction.waits, names))
    return " ".join(parts) + "\n"


def _waits(waits: tuple[Wait, ...], names: list[str]) -> str:
    conditions = ", ".join(
        f"{names[wait.queue] if 0 <= wait.queue < len(names) else wait.queue}>={wait.count}"
        for wait in waits
    )
    return f"wait({conditions})"
