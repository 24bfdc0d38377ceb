"""Which operators of a network are tiled alike: the same but for names, as in equal blocks.

    %b1.q = dense(%b1.n, %b1.w)      %b2.q = dense(%b2.n, %b2.w)      ->      one answer for both

Tiles and their times depend on kinds, attributes, element types, shapes, and on which operands are
constants or resident. What tensors are called, where they lie, and what their integers stand for
(scales and zero points) decides nothing.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field

from ...ir.graph import Graph, Op
from ...ir.groups import group_of, identity_of


@dataclass(frozen=True, slots=True)
class Likeness:
    """What an operator, or the group that it stands for, has in common with others.

    Attributes:
        number: The same for all that are alike.
        tensors: The tensors that it names, in the same order for all that are alike.
    """

    number: int
    tensors: tuple[str, ...]

    def places(self, names: frozenset[str]) -> frozenset[int]:
        """Return where tensors stand among those of the operator."""
        return frozenset(place for place, name in enumerate(self.tensors) if name in names)


@dataclass
class Likenesses:
    """Tells which operators of a network are alike; local to one run.

    Attributes:
        graph: The network.
    """

    graph: Graph
    _known: dict[Hashable, Likeness] = field(default_factory=dict[Hashable, Likeness])
    _numbers: dict[Hashable, int] = field(default_factory=dict[Hashable, int])

    def of(self, op: Op) -> Likeness:
        """Return the likeness of an operator, or of the one that stands for a group."""
        identity = identity_of(op)
        found = self._known.get(identity)
        if found is None:
            found = self._known[identity] = self._found(op)
        return found

    def of_network(self, graph: Graph) -> "Likenesses":
        """Return those of another network, with the same numbers for what is alike in both.

        Args:
            graph: The network.
        """
        return Likenesses(graph, _numbers=self._numbers)

    def _found(self, op: Op) -> Likeness:
        group, places = group_of(op), dict[str, int]()

        def place(name: str) -> int:
            return places.setdefault(name, len(places)) if name else -1

        members = (op,) if group is None else tuple(map(self._operator, group.members))
        shape = tuple(
            (
                member.kind,
                member.attrs,
                tuple(map(place, member.operands)),
                tuple(place(value.name) for value in member.results),
            )
            for member in members
        )
        tensors = tuple(type_likeness(self.graph, name) for name in places)
        handed_out = tuple(place(value.name) for value in op.results)
        key = shape, tensors, handed_out, None if group is None else group.rows
        return Likeness(self._numbers.setdefault(key, len(self._numbers)), tuple(places))

    def _operator(self, name: str) -> Op:
        return self.graph.producer[name]


def type_likeness(graph: Graph, name: str) -> Hashable:
    """Return what tensors have in common that tiles cannot tell apart.

    Args:
        graph: The network.
        name: Of the tensor.
    """
    found = graph.types[name]
    axis = None if found.quant is None else (found.quant.axis,)
    return found.dtype, found.shape, axis, graph.is_constant(name)
