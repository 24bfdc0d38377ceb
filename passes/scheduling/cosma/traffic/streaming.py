"""What an operator moves off chip when some of its tensors pass through a workspace in tiles.

Half of the workspace holds the tiles of one phase, the other half those that come or go. On the
MAC array outputs are finished where they accumulate and written once; inputs are fetched again
per tile of output channels, or weights per tile of the image, whichever order of loops moves
less. Tile extents are halvings of the dimensions. Other operators touch everything once, but for
gathers: where the workspace is small, their tables come again for each part of the indices.

This models good tilings; it is neither exact for a given mapper nor a bound below all of them.
"""

import math
from collections.abc import Hashable
from dataclasses import replace

from .....ir.arch import Architecture
from .....ir.graph import Graph, Op
from .....ir.groups import group_of, identity_of
from .....ir.operators.spec import Family
from .....ir.ops import OPS, workload
from .....ir.workload import Workload
from ....tiling.vector import least_workspace, table_loads, workspace_for_all_indices
from .groups import group_traffic
from .model import StreamedTraffic, TrafficModel, comfortable
from .tilings import OperatorTilings

_LINE = 16
_MATRIX_PRODUCTS = frozenset({"linear"})
_ROWWISE = frozenset({"softmax", "layer_norm"})


def analytic_traffic(graph: Graph, arch: Architecture, scratchpad: int) -> TrafficModel:
    """Return the traffic model of a graph on a machine; it remembers its answers.

    Args:
        graph: The network.
        arch: The machine.
        scratchpad: Its size [byte].
    """
    nests: dict[str, OperatorTilings | None] = {}
    known: dict[tuple[Hashable, frozenset[str], int], StreamedTraffic | None] = {}
    least: dict[tuple[str, frozenset[str]], int] = {}

    def model(op: Op, resident: frozenset[str], workspace: int) -> StreamedTraffic | None:
        key = identity_of(op), resident, workspace
        if key not in known:
            known[key] = find(op, resident, workspace)
        return known[key]

    groups: dict[Hashable, TrafficModel] = {}
    enough = comfortable(scratchpad)

    def find(op: Op, resident: frozenset[str], workspace: int) -> StreamedTraffic | None:
        group = group_of(op)
        if group is not None:
            if op.attrs not in groups:
                groups[op.attrs] = group_traffic(graph, group, arch, enough)
            return groups[op.attrs](op, resident, workspace)
        if op.name not in nests:
            found = _workload_of(graph, op)
            nests[op.name] = found and OperatorTilings(graph, op, found, arch, enough)
        tilings = nests[op.name]
        if tilings is None:
            if (op.name, resident) not in least:
                least[op.name, resident] = _least_workspace(graph, op, arch, resident)
            found = _touch_once(graph, op, resident, workspace, least[op.name, resident], enough)
            return _with_table(graph, op, arch, resident, workspace, found)
        return tilings.best(resident, workspace)

    return model


def _workload_of(graph: Graph, op: Op) -> Workload | None:
    if op.kind in OPS:
        return workload(op, graph.types)
    if op.kind in _MATRIX_PRODUCTS:
        *rows, C = graph.types[op.operands[0]].shape
        return Workload(P=math.prod(rows), C=C, K=op.result.type.shape[-1])
    return None


def _moved(graph: Graph, op: Op, resident: frozenset[str]) -> list[tuple[str, int]]:
    """Return what an operator reads and writes of what is not resident, with its bytes."""
    return [(name, graph.types[name].bytes) for name in op.touched if name not in resident]


def _least_workspace(graph: Graph, op: Op, arch: Architecture, resident: frozenset[str]) -> int:
    """Return the workspace below which an operator without reuse cannot be cut [byte]."""
    activations = [item for item in _moved(graph, op, resident) if not graph.is_constant(item[0])]
    least = 2 * sum(min(size, _least_tile(graph, op, name)) for name, size in activations)
    if op.kind not in OPS or OPS[op.kind].access is None:
        return least
    return max(least, least_workspace(graph, op, arch, resident))


def _touch_once(
    graph: Graph, op: Op, resident: frozenset[str], workspace: int, least: int, enough: int
) -> StreamedTraffic | None:
    """Return the traffic of an operator without reuse: every tensor once."""
    moved = _moved(graph, op, resident)
    activations = tuple(item for item in moved if not graph.is_constant(item[0]))
    if least > workspace:
        return None
    return StreamedTraffic(
        activations=activations,
        constants=sum(size for name, size in moved if graph.is_constant(name)),
        workspace=min(workspace, max(least, enough)),
    )


def _with_table(
    graph: Graph,
    op: Op,
    arch: Architecture,
    resident: frozenset[str],
    workspace: int,
    found: StreamedTraffic | None,
) -> StreamedTraffic | None:
    """Return the traffic of an operator; a gather's table may have to come several times."""
    table = op.operands[0] if op.operands else ""
    is_gather = op.kind in OPS and OPS[op.kind].family is Family.GATHER
    if found is None or not is_gather or table in resident:
        return found
    enough = max(found.workspace, workspace_for_all_indices(graph, op, arch, resident))
    found = replace(found, workspace=min(workspace, enough))
    more = table_loads(graph, op, arch, resident, found.workspace) - 1
    if graph.is_constant(table):
        return replace(found, constants=found.constants + more * graph.types[table].bytes)
    activations = ((name, size * (1 + more * (name == table))) for name, size in found.activations)
    return replace(found, activations=tuple(activations))


def _least_tile(graph: Graph, op: Op, name: str) -> int:
    """Return the least of a tensor that an operator works on at a time [byte]."""
    item = graph.types[name]
    if op.kind in _ROWWISE:
        return item.shape[-1] * item.dtype.bytes
    return _LINE
