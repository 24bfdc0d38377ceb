"""Which steps of a plan are alike, so that what is known of one interval is known of others.

    conv 1 -> relu 1 -> conv 2 -> relu 2 -> conv 3      ->      kinds 0 1 2 1 3
                                                                or 0 1 0 1 0 in the middle of many

Steps are of one kind where, seen from each of them, everything is the same that the cost of a
group depends on: operator, types, how far before them what they read is made and how far behind
them their readers are, what the plan keeps on chip and moves. Intervals of the same kinds in the
same order then have the same groups with the same estimates, whatever their tensors are called.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ....ir.graph import Graph, Op
from ....ir.graph_schedule import GraphSchedule
from ..likeness import type_likeness


@dataclass
class StepKinds:
    """Numbers the steps of a plan without groups; local to one choice.

    Attributes:
        graph: The network.
        plan: The plan.
        moved: What each step moves off chip, tiles and constants included [byte].
    """

    graph: Graph
    plan: GraphSchedule
    moved: Sequence[float]
    _last_read: dict[str, int] = field(default_factory=dict[str, int])

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """A number for each step, the same for those that are alike."""
        known: dict[Hashable, int] = {}
        seen = (self._seen_from(step) for step in range(len(self.plan.order)))
        return tuple(known.setdefault(item, len(known)) for item in seen)

    def _seen_from(self, step: int) -> Hashable:
        op = self.graph.producer[self.plan.order[step]]
        kept = frozenset(
            (self._place(item.tensor, step), item.bytes) for item in self.plan.residences_at(step)
        )
        whole = tuple(
            (self._place(item.tensor, step), item.bytes) for item in self.plan.moved_whole(step)
        )
        tensors = self._operands(op, step), self._results(op, step), kept, whole
        return op.kind, op.attrs, self.moved[step], tensors

    def _operands(self, op: Op, step: int) -> Hashable:
        return tuple(
            (self._place(name, step), type_likeness(self.graph, name)) if name else None
            for name in op.operands
        )

    def _results(self, op: Op, step: int) -> Hashable:
        """Return types of results, who reads them, and whether the network returns them."""
        return tuple(
            (
                type_likeness(self.graph, value.name),
                tuple(
                    self.plan.step_of[reader.name] - step
                    for reader in self.graph.consumers[value.name]
                ),
                value.name in self._outputs,
            )
            for value in op.results
        )

    def _place(self, name: str, step: int) -> Hashable:
        """Return which tensor it is: by the distance of what makes it, or by name.

        Constants that pass in tiles differ in the distance of the reader before.
        """
        source = self.graph.producer.get(name)
        if source is not None:
            made = [value.name for value in source.results].index(name)
            return self.plan.step_of[source.name] - step, made
        if name in self._kept or not self.graph.is_constant(name):
            return name
        before = self._last_read.get(name)
        self._last_read[name] = step
        return None if before is None else before - step

    @cached_property
    def _outputs(self) -> frozenset[str]:
        return frozenset(self.graph.outputs)

    @cached_property
    def _kept(self) -> frozenset[str]:
        return frozenset(item.tensor for item in self.plan.residences)
