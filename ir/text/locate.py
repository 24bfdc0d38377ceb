"""Where in the text an invariant is broken, from the names in the message."""

from collections.abc import Iterator, Sequence

from lark import Token

from .syntax import GraphNode, SectionNode, text_of


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
