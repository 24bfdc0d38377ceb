"""Assembly text to programs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import cast

from lark import Token

from ...ir.arch import Architecture
from ...ir.errors import ParseError
from ...ir.isa import AnyInstruction, Instruction, Space, Unit, Wait
from ...ir.mapping import LoopNest
from ...ir.program import Program, SpaceSize, Symbol
from ...ir.text.errors import at_position
from ..instruction_table import layouts
from ..program_head import ProgramHead, QueueHead, join
from .convert import build
from .syntax import (
    Condition,
    Directive,
    Problem,
    Statement,
    integer,
    parse,
    string,
)


def assemble(text: str, *, source: str = "<text>") -> Program:
    """Return the program that a text describes; ``Program.verify`` is the caller's to call.

    Args:
        text: What ``disassemble`` writes.
        source: Name of the file, for messages.

    Raises:
        ParseError: The text breaks the grammar, or a value has the wrong type; names line and
            column and shows the line with a caret.
    """
    try:
        return _program(parse(text, source))
    except Problem as problem:
        at = problem.at
        message = at_position(text, source, at.line or 1, at.column or 1, problem.message)
        raise ParseError(message, hint=problem.hint) from None


@dataclass(slots=True)
class _Draft:
    """A program while it is read."""

    name: str | None = None
    arch: Architecture | None = None
    spaces: list[SpaceSize] = field(default_factory=list[SpaceSize])
    symbols: list[Symbol] = field(default_factory=list[Symbol])
    operators: list[str] = field(default_factory=list[str])
    nests: list[LoopNest] = field(default_factory=list[LoopNest])
    queues: list[tuple[Unit, int]] = field(default_factory=list[tuple[Unit, int]])
    statements: list[list[Statement]] = field(default_factory=list[list[Statement]])


def _program(nodes: Sequence[Directive | Statement]) -> Program:
    draft = _Draft()
    for node in nodes:
        if isinstance(node, Directive):
            _direct(draft, node)
        elif draft.statements:
            draft.statements[-1].append(node)
        else:
            raise Problem(node.at, "an instruction before the first .queue")
    end = nodes[-1].at if nodes else Token("$END", "", line=1, column=1)
    if draft.name is None or draft.arch is None:
        raise Problem(end, "no .program or no .arch")
    heads = tuple(
        QueueHead(unit=unit, index=index, length=len(own))
        for (unit, index), own in zip(draft.queues, draft.statements, strict=True)
    )
    head = ProgramHead(
        name=draft.name,
        arch=draft.arch,
        spaces=tuple(draft.spaces),
        symbols=tuple(draft.symbols),
        operators=tuple(draft.operators),
        nests=tuple(draft.nests),
        queues=heads,
    )
    numbers = _numbers(draft)
    return join(head, [tuple(_instruction(s, numbers) for s in own) for own in draft.statements])


def _direct(draft: _Draft, node: Directive) -> None:
    read = _DIRECTIVES.get(str(node.at))
    if read is None:
        known = ", ".join(_DIRECTIVES)
        raise Problem(node.at, f"no directive {node.at}", hint=f"directives: {known}")
    read(draft, node)


def _read_program(draft: _Draft, node: Directive) -> None:
    draft.name = _only_title(node)


def _read_arch(draft: _Draft, node: Directive) -> None:
    draft.arch = build(Architecture, node.at, node.arguments, name=_title(node))


def _read_space(draft: _Draft, node: Directive) -> None:
    if node.title not in tuple(Space):
        raise Problem(node.title, "no such space", hint=f"spaces: {', '.join(Space)}")
    space = Space(str(node.title))
    draft.spaces.append(build(SpaceSize, node.at, node.arguments, space=space))


def _read_symbol(draft: _Draft, node: Directive) -> None:
    draft.symbols.append(build(Symbol, node.at, node.arguments, name=_title(node)))


def _read_operator(draft: _Draft, node: Directive) -> None:
    draft.operators.append(_only_title(node))


def _read_nest(draft: _Draft, node: Directive) -> None:
    if node.title != f"n{len(draft.nests)}":
        raise Problem(node.title, f"nest {node.title} where n{len(draft.nests)} is due")
    draft.nests.append(build(LoopNest, node.at, node.arguments))


def _read_queue(draft: _Draft, node: Directive) -> None:
    title = str(node.title)
    unit = title.rstrip("0123456789")
    if unit not in tuple(Unit) or unit == title:
        raise Problem(node.title, "not a queue", hint=f"a unit ({', '.join(Unit)}) and a number")
    draft.queues.append((Unit(unit), int(title.removeprefix(unit))))
    draft.statements.append([])


_DIRECTIVES: Mapping[str, Callable[[_Draft, Directive], None]] = {
    ".program": _read_program,
    ".arch": _read_arch,
    ".space": _read_space,
    ".symbol": _read_symbol,
    ".operator": _read_operator,
    ".nest": _read_nest,
    ".queue": _read_queue,
}


def _title(node: Directive) -> str:
    if node.title.type != "STRING":
        raise Problem(node.title, f"{node.at} needs a name in quotes")
    return string(node.title)


def _only_title(node: Directive) -> str:
    if node.arguments:
        raise Problem(node.arguments[0].at, f"{node.at} takes nothing but a name")
    return _title(node)


def _numbers(draft: _Draft) -> dict[str, int]:
    """Return the number of each queue by its name, where it is unique."""
    names = [f"{unit}{index}" for unit, index in draft.queues]
    return {name: number for number, name in enumerate(names) if names.count(name) == 1}


def _instruction(node: Statement, queues: Mapping[str, int]) -> AnyInstruction:
    kind = _mnemonics().get(str(node.at))
    if kind is None:
        known = ", ".join(_mnemonics())
        raise Problem(node.at, f"no instruction {str(node.at)!r}", hint=f"instructions: {known}")
    waits = tuple(_wait(condition, queues) for condition in node.conditions)
    return cast("AnyInstruction", build(kind, node.at, node.arguments, waits=waits))


def _wait(condition: Condition, queues: Mapping[str, int]) -> Wait:
    token = condition.queue
    number = integer(token) if token.type == "INT" else queues.get(str(token))
    if number is None:
        raise Problem(token, f"no queue {str(token)!r}", hint=f"queues: {', '.join(queues)}")
    return Wait(number, condition.count)


@cache
def _mnemonics() -> dict[str, type[Instruction]]:
    return {layout.mnemonic: layout.type for layout in layouts()}
