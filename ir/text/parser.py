"""Text to a module: the inverse of ``printer.print_module``."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Protocol, TypeVar, cast

from lark import Lark, Token, UnexpectedInput

from ..arch import Architecture
from ..errors import AccnnError, ParseError, VerifyError
from ..graph_schedule import GraphSchedule
from ..isa.program import Program
from ..module import Module
from ..resources import Constants
from ..tiles.schedule import TileSchedule
from .errors import at_position, unexpected
from .reading.build_syntax import BuildSyntax
from .reading.graph import read_graph
from .reading.nest import read_mapping
from .reading.records import read_fields
from .reading.syntax import FieldNode, GraphNode, SectionNode, SyntaxProblem, text_of

T = TypeVar("T")


class Verifiable(Protocol):
    """A value with invariants."""

    def verify(self) -> None:
        """Raise where one is broken."""


def parse_module(
    text: str,
    *,
    source: str = "<text>",
    constants: Constants | None = None,
    verify: bool = False,
) -> Module:
    """Read a module.

    Args:
        text: Sections in any order; one is the graph.
        source: Name of the file, for messages.
        constants: The data of the constants, which is not part of the text.
        verify: Whether to verify the module; errors then name the line of the operator.

    Raises:
        ParseError: The text breaks the grammar, or a field has a wrong type.
        VerifyError: The module breaks an invariant.
    """
    sections = _sections(text, source)
    try:
        module = _module(sections, constants or Constants())
    except SyntaxProblem as problem:
        message = _message(problem.at, problem.message, text, source)
        raise ParseError(message, hint=problem.hint) from None
    if verify:
        _verify(module, sections, text, source)
    return module


def parse_program(text: str, *, source: str = "<text>") -> Program:
    """Read the text of one program, as ``print_program`` writes it.

    Args:
        text: A section ``program`` and nothing else.
        source: Name of the file, for messages.

    Raises:
        ParseError: The text breaks the grammar, or a field has a wrong type.
    """
    sections = _sections(text, source)
    try:
        others = [item for item in sections if item.at != "program"]
        program = _only(Program, "program", [s for s in sections if isinstance(s, SectionNode)])
        if others or program is None:
            nowhere = Token("$END", "", line=1, column=1)
            raise SyntaxProblem(others[0].at if others else nowhere, "expected one program")
    except SyntaxProblem as problem:
        message = _message(problem.at, problem.message, text, source)
        raise ParseError(message, hint=problem.hint) from None
    return program


@cache
def _lark() -> Lark:
    return Lark.open(
        "grammar.lark", rel_to=__file__, parser="lalr", transformer=BuildSyntax(), cache=False
    )


def _sections(text: str, source: str) -> list[GraphNode | SectionNode]:
    try:
        return cast("list[GraphNode | SectionNode]", _lark().parse(text))
    except UnexpectedInput as error:
        raise unexpected(error, text, source) from None


def _module(sections: Sequence[GraphNode | SectionNode], constants: Constants) -> Module:
    others = [item for item in sections if isinstance(item, SectionNode)]
    graphs = [item for item in sections if isinstance(item, GraphNode)]
    if not graphs:
        nowhere = sections[0].at if sections else Token("$END", "", line=1, column=1)
        raise SyntaxProblem(nowhere, "the module has no graph")
    if len(graphs) > 1:
        raise SyntaxProblem(graphs[1].at, "the module has two graphs")
    mappings = [read_mapping(item) for item in others if item.at == "mapping"]
    return Module(
        graph=read_graph(graphs[0]),
        arch=_only(Architecture, "arch", others),
        graph_schedule=_only(GraphSchedule, "graph_schedule", others),
        mappings=tuple(mappings),
        tile_schedule=_only(TileSchedule, "tile_schedule", others),
        program=_only(Program, "program", others),
        constants=constants,
    )


def _only(kind: type[T], keyword: str, sections: Sequence[SectionNode]) -> T | None:
    found = [item for item in sections if item.at == keyword]
    if len(found) > 1:
        raise SyntaxProblem(found[1].at, f"the module has two sections {keyword}")
    return _read(kind, found[0]) if found else None


def _read(kind: type[T], section: SectionNode) -> T:
    fields = [item for item in section.items if isinstance(item, FieldNode)]
    given = {} if section.title is None else {"name": text_of(section.title)}
    return read_fields(kind, section.at, fields, given)


def _message(at: Token, message: str, text: str, source: str) -> str:
    return at_position(text, source, at.line or 1, at.column or 1, message)


def _verify(
    module: Module, sections: Sequence[GraphNode | SectionNode], text: str, source: str
) -> None:
    try:
        module.verify()
    except AccnnError as error:
        at = locate(error.message, sections, _guilty(module))
        raise VerifyError(_message(at, error.message, text, source), hint=error.hint) from error


def _guilty(module: Module) -> str:
    """Keyword of the first stage that is not valid with those before it."""
    stages: dict[str, Verifiable | None] = {
        "arch": module.arch,
        "graph_schedule": module.graph_schedule,
        "tile_schedule": module.tile_schedule,
        "program": module.program,
    }
    if not _is_valid(Module(graph=module.graph, constants=module.constants)):
        return "graph"
    for keyword, value in stages.items():
        if value is not None and not _is_valid(value):
            return keyword
    before = replace(module, tile_schedule=None, program=None)
    return "tile_schedule" if _is_valid(before) else "mapping"


def _is_valid(value: Verifiable) -> bool:
    try:
        value.verify()
    except AccnnError:
        return False
    return True


def locate(message: str, sections: Sequence[GraphNode | SectionNode], stage: str) -> Token:
    """Return the token that a message of ``verify`` speaks of.

    That is the operator it names by kind and result; else the tensor it names; else the first
    section of the stage. Of several candidates the longest name counts, since one may begin
    another.

    Args:
        message: What is wrong.
        sections: The text.
        stage: Keyword of the sections in which the invariant is broken.
    """
    for candidates in (_operators(sections), _tensors(sections)):
        named = [(name, at) for name, at in candidates if name in message]
        if named and stage in ("graph", "mapping"):
            return max(named, key=lambda item: len(item[0]))[1]
    return next((item.at for item in sections if item.at == stage), sections[0].at)


def _operators(sections: Sequence[GraphNode | SectionNode]) -> Iterator[tuple[str, Token]]:
    for section in sections:
        if isinstance(section, GraphNode):
            for op in section.ops:
                yield f"{text_of(op.kind)} %{text_of(op.at)}", op.at


def _tensors(sections: Sequence[GraphNode | SectionNode]) -> Iterator[tuple[str, Token]]:
    for section in sections:
        if isinstance(section, GraphNode):
            for value in section.values:
                yield f"%{text_of(value.at)}", value.at
            for op in section.ops:
                yield from ((f"%{text_of(name)}", name) for name in op.results)
            yield from ((f"%{text_of(name)}", name) for name in section.outputs)
        elif section.title is not None:
            yield f"mapping of %{text_of(section.title)}", section.title
