"""Syntax to a mapping and its loop nest."""

from ...mapping import Allocation, Loop, LoopNest, SpatialLoop
from ...module import Mapping
from ...workload import Dim, Operand, Workload
from .leaves import read_enum, read_int
from .records import read_fields, read_record
from .syntax import (
    FieldNode,
    LevelNode,
    LoopNode,
    SectionNode,
    Syntax,
    SyntaxProblem,
    text_of,
)


def read_mapping(node: SectionNode) -> Mapping:
    """Return the mapping of one operator.

    Raises:
        SyntaxProblem: A field is malformed, or there is no such dimension or operand.
    """
    assert node.title is not None
    fields = [item for item in node.items if isinstance(item, FieldNode)]
    workload = [item.value for item in fields if item.at == "workload"]
    if len(workload) != 1:
        raise SyntaxProblem(node.at, "a mapping needs one workload")
    given = {"operator": text_of(node.title), "nest": _nest(node, workload[0])}
    rest = [item for item in fields if item.at != "workload"]
    return read_fields(Mapping, node.at, rest, given)


def _nest(node: SectionNode, workload: Syntax) -> LoopNest:
    temporal: list[Loop] = []
    spatial: list[SpatialLoop] = []
    allocations: list[Allocation] = []
    for item in node.items:
        if isinstance(item, LevelNode):
            allocations += _allocations(item, len(temporal))
        elif isinstance(item, LoopNode):
            dim, extent = read_enum(Dim, item.at), read_int(item.extent)
            if item.fanout is None:
                temporal.append(Loop(dim, extent))
            else:
                spatial.append(SpatialLoop(dim, extent, text_of(item.fanout)))
    return LoopNest(
        workload=read_record(Workload, workload),
        temporal=tuple(temporal),
        spatial=tuple(spatial),
        allocations=tuple(allocations),
    )


def _allocations(node: LevelNode, start: int) -> list[Allocation]:
    level = text_of(node.at)
    return [Allocation(read_enum(Operand, item), level, start) for item in node.operands.items]
