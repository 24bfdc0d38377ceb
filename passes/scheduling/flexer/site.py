"""One operator of the MAC array at its place: what tiles of it look like and where they may lie."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from ....ir.arch import Architecture
from ....ir.errors import PassError
from ....ir.graph import Graph, Op
from ....ir.graph_schedule import GraphSchedule
from ....ir.isa.instructions import Space
from ....ir.ops import is_mac, workload
from ....ir.workload import Operand, Workload
from ...tiling.mac_tiles import MacTiler, parameter_names
from ...tiling.residency import Residency, parameter_range, residency


@dataclass(frozen=True, kw_only=True)
class Site:
    """An operator of the MAC array that is to be scheduled out of order.

    Accumulators lie in the scratchpad, so that any NPU may go on with any accumulation.

    Attributes:
        graph: The network.
        op: The operator.
        arch: The machine; its scratchpad holds weights.
        place: What is resident, and the space for tiles.
        parameter_range: First byte and size of the space for parameters, the same in every NPU.
    """

    graph: Graph
    op: Op
    arch: Architecture
    place: Residency
    parameter_range: tuple[int, int]

    @cached_property
    def workload(self) -> Workload:
        """Its extents."""
        found = workload(self.op, self.graph.types)
        if found is None:
            raise PassError(f"%{self.op.name} does not run on the MAC array")
        return replace(found, psum_bits=self.arch.accumulator_bits)

    @cached_property
    def tiler(self) -> MacTiler:
        """Makes its tiles."""
        return MacTiler(
            self.graph,
            self.op,
            self.workload,
            Space.GB,
            self.place,
            self.arch,
            self.parameter_range[1],
        )

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """Tensors that finishing reads: bias and multiplier."""
        return parameter_names(self.graph, self.op)

    @cached_property
    def resident(self) -> Mapping[Operand, bool]:
        """Whether an operand lies whole in the scratchpad."""
        return {
            Operand.I: self.op.operands[0] in self.place.addresses,
            Operand.W: self.op.operands[1] in self.place.addresses,
            Operand.O: self.op.name in self.place.addresses,
        }


def is_eligible(op: Op, arch: Architecture) -> bool:
    """Whether an operator can be scheduled out of order: MACs, and weights in the scratchpad."""
    return is_mac(op) and Operand.W in arch.scratchpad_level.holds


def site_of(graph: Graph, plan: GraphSchedule, op: Op, arch: Architecture) -> Site:
    """Return an operator at its step of a graph schedule.

    Args:
        graph: The network.
        plan: Of the scratchpad.
        op: The operator.
        arch: The machine.
    """
    return Site(
        graph=graph,
        op=op,
        arch=arch,
        place=residency(graph, plan, op),
        parameter_range=parameter_range(arch, plan, op.name),
    )


Likeness: TypeAlias = tuple[Hashable, ...]
"""What two operators have in common if the same decisions serve both."""


def likeness(site: Site) -> Likeness:
    """Return all of a site that a schedule depends on, but for names and addresses."""
    types = site.graph.types
    names = (*site.op.operands[:2], site.op.name)
    return (
        site.workload,
        site.tiler.window.pads[:2],
        tuple((types[name].dtype, types[name].shape) for name in names),
        tuple(site.resident.items()),
        site.place.workspace_bytes,
        len(site.parameters),
        site.parameter_range[1],
    )
