"""What a fused group moves off chip, roughly: inputs and results once, weights once or per stripe.

A group of one chain is tiled like its first member, with what the others fetch beside its outputs.
A striped one needs its lines whatever it does; of its constants, as many as fit beside them, or
beside the array, come once, the others again in each stripe. Computed weights are held like
constant ones, unless they are resident.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from .....ir.arch import Architecture
from .....ir.graph import Graph, Op
from .....ir.graph_schedule import Group
from .....ir.ops import is_mac, spec_of, weights_of, workload
from .....ir.workload import Operand
from ....tiling.groups.chains import Chain, chains, passing_bits
from ....tiling.groups.rows import SameGraph, rows_of
from ....tiling.groups.stripes import stretches, stripe_count
from ...map_groups import line_bytes
from .model import StreamedTraffic, TrafficModel
from .tilings import OperatorTilings


def group_traffic(graph: Graph, group: Group, arch: Architecture, least: int) -> TrafficModel:
    """Return the traffic model of one group.

    Args:
        graph: The network.
        group: The group.
        arch: The machine.
        least: What is left for tiles at least [byte].
    """
    parts = chains(graph, group.members)
    if len(parts) == 1 and not group.rows and is_mac(parts[0][0]):
        return _chain_traffic(graph, parts[0], arch, least)
    return _stripe_traffic(graph, group, arch, least)


def _chain_traffic(graph: Graph, chain: Chain, arch: Architecture, least: int) -> TrafficModel:
    """Return the traffic model of an operator of the MAC array and what finishes its tiles."""
    head, last = chain[0], chain[-1]
    nest = workload(head, graph.types)
    assert nest is not None
    fetched = {name for op in chain[1:] for name in _read_in_tiles(graph, op)}
    fetched -= {op.name for op in chain}
    bits = passing_bits(chain, 1 + len(fetched))
    stand_in = replace(head, results=last.results)
    tilings = OperatorTilings(graph, stand_in, replace(nest, output_bits=bits), arch, least)
    tables = sum(
        graph.types[name].bytes for op in chain[1:] for name in op.inputs if graph.is_constant(name)
    )

    def model(op: Op, resident: frozenset[str], workspace: int) -> StreamedTraffic | None:
        found = tilings.best(resident, workspace)
        if found is None or workspace < least:
            return None
        moved = dict(found.activations)
        for name in sorted(fetched - resident):
            moved[name] = moved.get(name, 0) + graph.types[name].bytes
        return replace(found, activations=tuple(moved.items()), constants=found.constants + tables)

    return model


def _read_in_tiles(graph: Graph, op: Op) -> tuple[str, ...]:
    names = op.operands[: spec_of(op).parameters]
    return tuple(name for name in names if not graph.is_constant(name))


def _stripe_traffic(graph: Graph, group: Group, arch: Architecture, least: int) -> TrafficModel:
    """Return the traffic model of a group that works stripe by stripe."""
    ops = [graph.producer[name] for name in group.members]
    count = stripe_count(graph, group.members, group.rows)
    passing = _rows_passing(graph, group, [name for op in ops for name in op.inputs])
    types = {name: graph.types[name] for name in passing}
    passing = {name: types[name].bytes // rows_of(types[name]) * passing[name] for name in passing}
    weights = {name for op in ops for name in weights_of(op)}
    computed = sorted(name for name in weights if not graph.is_constant(name))
    constants = sum(graph.types[name].bytes for name in passing if graph.is_constant(name))
    cycles = -(-sum(_macs(SameGraph(graph), op.name) for op in ops) // arch.all_macs)
    pass_scratchpad = Operand.W in arch.scratchpad_level.holds
    beside = 0 if pass_scratchpad else arch.whole_capacity(arch.home(Operand.W).name)
    own = set(group.members)

    def model(op: Op, resident: frozenset[str], workspace: int) -> StreamedTraffic | None:
        left = workspace - line_bytes(graph, group, resident)
        if left < least:
            return None
        held = left - least if pass_scratchpad else beside
        passing_weights = [name for name in computed if name not in resident]
        total = constants + sum(graph.types[name].bytes for name in passing_weights)
        again = max(0, total - held) * (count - 1)
        moved = [
            (name, size or graph.types[name].bytes)
            for name, size in passing.items()
            if name not in own and name not in resident and not graph.is_constant(name)
        ]
        moved += [(made.name, made.type.bytes) for made in op.results if made.name not in resident]
        return StreamedTraffic(
            activations=tuple(moved),
            constants=constants + again,
            workspace=workspace,
            cycles=cycles,
        )

    return model


@lru_cache(maxsize=4096)
def _macs(seen: SameGraph, name: str) -> int:
    """Return the MACs of a member; most are members of many groups."""
    nest = workload(seen.graph.producer[name], seen.graph.types)
    return 0 if nest is None else nest.macs


def _rows_passing(graph: Graph, group: Group, names: Iterable[str]) -> dict[str, int]:
    """Return how many rows of tensors come into lines, those that are there not again."""
    passing = dict.fromkeys(names, 0)
    before = dict.fromkeys(passing, 0)
    for item in stretches(graph, group.members, group.rows):
        for name in filter(passing.__contains__, item.first.lines):
            rows, step, more = item.first.lines[name], item.steps.get(name, 0), item.count - 1
            passing[name] += max(0, rows.stop - max(rows.start, before[name]))
            passing[name] += more * min(rows.size, step)
            before[name] = max(before[name], rows.stop + more * step)
    return passing
