"""The text of a graph: one line per tensor from outside, one per operator."""

from ...graph import Attr, Graph, Op, Value
from .records import print_type
from .words import name, number, quoted, word


def print_graph(graph: Graph) -> str:
    """Return the text of a graph."""
    lines = [f"  input {_print_value(value)}\n" for value in graph.inputs]
    lines += [f"  const {_print_value(value)}\n" for value in graph.constants]
    lines += [f"  {print_op(op)}\n" for op in graph.ops]
    results = ", ".join(name(output) for output in graph.outputs)
    return f"graph {word(graph.name)} {{\n{''.join(lines)}  return {results}".rstrip() + "\n}\n"


def print_op(op: Op) -> str:
    """Return the text of an operator: ``%b = conv2d(%x, %w) {stride = [2, 2]} : f32<1x8x4x4>``."""
    results = ", ".join(name(value.name) for value in op.results)
    operands = ", ".join(name(operand) if operand else "_" for operand in op.operands)
    attrs = ", ".join(f"{word(key)} = {_print_attr(value)}" for key, value in op.attrs)
    types = ", ".join(print_type(value.type) for value in op.results)
    attrs = f" {{{attrs}}}" if attrs else ""
    origin = f" from {quoted(op.loc)}" if op.loc else ""
    return f"{results} = {word(op.kind)}({operands}){attrs} : {types}{origin}"


def _print_value(value: Value) -> str:
    return f"{name(value.name)} : {print_type(value.type)}"


def _print_attr(value: Attr) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(_print_attr(item) for item in value)}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    return number(value) if isinstance(value, float) else str(value)
