"""Syntax to a graph."""

from lark import Token

from ...graph import Graph, Op, Value
from .leaves import read_attr, read_type
from .syntax import GraphNode, OpNode, SyntaxProblem, ValueNode, text_of


def read_graph(node: GraphNode) -> Graph:
    """Return the graph.

    Raises:
        SyntaxProblem: A type or attribute is malformed.
    """
    return Graph(
        name=text_of(node.name),
        inputs=tuple(_value(item) for item in node.values if item.keyword == "input"),
        constants=tuple(_value(item) for item in node.values if item.keyword == "const"),
        ops=tuple(_op(item) for item in node.ops),
        outputs=tuple(text_of(name) for name in node.outputs),
    )


def _value(node: ValueNode) -> Value:
    return Value(text_of(node.at), read_type(node.type))


def _op(node: OpNode) -> Op:
    if len(node.types) != len(node.results):
        raise SyntaxProblem(
            node.at, f"{len(node.results)} results and {len(node.types)} types do not match"
        )
    pairs = zip(node.results, node.types, strict=True)
    fields = () if node.attrs is None else node.attrs.fields
    return Op(
        kind=text_of(node.kind),
        operands=tuple(_operand(token) for token in node.operands),
        results=tuple(Value(text_of(name), read_type(type_)) for name, type_ in pairs),
        attrs=tuple((text_of(item.at), read_attr(item.value)) for item in fields),
        loc="" if node.origin is None else text_of(node.origin.at),
    )


def _operand(token: Token) -> str:
    return "" if token.type == "ABSENT" else text_of(token)
