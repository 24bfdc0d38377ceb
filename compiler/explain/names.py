"""Which operators a user means: by name of the operator, of its tensor, or of the ONNX node."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ...ir.errors import OptionError
from ...ir.module import Module
from ...ir.suggest import suggest
from ...models.onnx_import.loading.nodes import NetworkNode
from ..onnx_nodes import nodes_of
from ..report.operator_table import QUANTISED


@dataclass(frozen=True, slots=True)
class NamedOperator:
    """A step of the plan.

    Attributes:
        name: Of the operator, or of the group of operators that run together.
        members: Operators of the graph, in order.
        nodes: ONNX nodes that they come from, in order; each once.
        folded: The ONNX node that was asked for, where it has no operator of its own; else empty.
    """

    name: str
    members: tuple[str, ...]
    nodes: tuple[str, ...]
    folded: str = ""


def check_name(nodes: Sequence[NetworkNode], wanted: str) -> None:
    """Refuse, before anything is compiled, what no operator of a network can be called.

    Operators are called as the tensors that they make, some with an ending.

    Args:
        nodes: Of the network; nothing is refused where there are none.
        wanted: Name of an operator or of an ONNX node.

    Raises:
        OptionError: Nothing can have this name; the hint has the nearest.
    """
    tensors = {name for node in nodes for name in (*node.reads, *node.makes)}
    known = {name for node in nodes if (name := node.name)} | tensors
    if not known or wanted in known:
        return
    if not any(wanted.startswith((f"{name}_", f"{name}.")) for name in tensors):
        raise OptionError(f"no operator or ONNX node {wanted!r}", hint=suggest(wanted, known))


def find_operator(module: Module, wanted: str, nodes: Sequence[NetworkNode] = ()) -> NamedOperator:
    """Return the step of the plan that executes an operator.

    Args:
        module: With a plan.
        wanted: Name of an operator, of a member of a group, of an ONNX node, or of its tensor.
        nodes: Of the network as its file has it; tells into which operator a node was folded.

    Raises:
        OptionError: Nothing has this name, or an ONNX node of this name became several steps; the
            hint has the nearest, or those.
    """
    steps = _steps(module)
    operators = {name: step for step in steps for name in (*step.members, step.name)}
    if wanted in operators:
        return operators[wanted]
    found = [step for step in steps if wanted in step.nodes]
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(step.name for step in found)
        raise OptionError(
            f"ONNX node {wanted!r} became {len(found)} operators", hint=f"name one: {names}"
        )
    computes = _that_computes(wanted, nodes, operators)
    if computes is not None:
        return replace(computes, folded=wanted)
    known = {*operators, *(node for step in steps for node in step.nodes)}
    raise OptionError(f"no operator or ONNX node {wanted!r}", hint=suggest(wanted, known))


def _steps(module: Module) -> tuple[NamedOperator, ...]:
    plan, producer = module.graph_schedule, module.graph.producer
    assert plan is not None
    steps = {name: plan.members(name) for name in plan.order}
    return tuple(
        NamedOperator(name, members, nodes_of(producer[item].loc for item in members))
        for name, members in steps.items()
    )


def _that_computes(
    wanted: str, nodes: Sequence[NetworkNode], operators: Mapping[str, NamedOperator]
) -> NamedOperator | None:
    """Return the step into which a node was folded: the nearest before it, else behind it.

    What makes a tensor is folded into what makes a later one: there the other way round.
    """
    by_name = next((node for node in nodes if wanted and node.name == wanted), None)
    start = by_name or next((node for node in nodes if wanted in node.makes), None)
    if start is None:
        return None
    ways = (True, False) if by_name is not None else (False, True)
    by_node = {name: step for step in operators.values() for name in step.nodes}
    for node in (node for back in ways for node in _walk(start, nodes, back=back)):
        names = (name for made in node.makes for name in (f"{made}{QUANTISED}", made))
        found = next((operators[name] for name in names if name in operators), None)
        found = found or by_node.get(node.name)
        if found is not None:
            return found
    return None


def _walk(start: NetworkNode, nodes: Sequence[NetworkNode], *, back: bool) -> Iterator[NetworkNode]:
    """Yield a node and those that it needs (or that need it), the nearest first."""
    links = {
        name: [other for other in nodes if name in (other.makes if back else other.reads)]
        for node in nodes
        for name in (node.reads if back else node.makes)
    }
    seen, waiting = {start}, [start]
    while waiting:
        node = waiting.pop(0)
        yield node
        for name in node.reads if back else node.makes:
            waiting += [other for other in links[name] if other not in seen]
            seen.update(links[name])
