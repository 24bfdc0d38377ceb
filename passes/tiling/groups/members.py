"""The members of a fused group: what they read, make and hand on, and what of it is resident."""

from dataclasses import dataclass
from functools import cached_property

from ....ir.graph import Graph
from ....ir.groups import ends, further_results
from ....ir.ops import weights_of
from ....ir.workload import Operand
from ..residency import Residency
from .chains import Chain
from .homes import Home, Homes, home_of
from .rows import read_row_by_row, reads_lines


@dataclass(frozen=True)
class Members:
    """The members of a group, and what they read, make and hand on.

    Attributes:
        graph: The network.
        chains: The members as chains.
        rows: Rows of the last result that a stripe makes; 0: all.
        place: What is resident and what is moved in tiles.
        homes: What lies in place in concatenations.
    """

    graph: Graph
    chains: tuple[Chain, ...]
    rows: int
    place: Residency
    homes: Homes

    @cached_property
    def is_striped(self) -> bool:
        """Whether inputs come as lines; else in the tiles of the first member's nest."""
        return len(self.chains) > 1 or self.rows > 0

    @cached_property
    def made_here(self) -> frozenset[str]:
        """What members make."""
        return frozenset(self.names)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the operators, in execution order."""
        return tuple(op.name for chain in self.chains for op in chain)

    @cached_property
    def ends(self) -> frozenset[str]:
        """Results that no member reads."""
        return ends(self.graph, self.names)

    @cached_property
    def handed_out(self) -> frozenset[str]:
        """What others read of the members, but for the last one."""
        return frozenset(further_results(self.graph, self.names))

    @cached_property
    def first_reads(self) -> frozenset[str]:
        """What the first operators of chains read from outside, in lines."""
        heads = (chain[0] for chain in self.chains if self.is_striped)
        read = {name for op in heads for name in reads_lines(self.graph, op)}
        return frozenset(read - self.made_here)

    @cached_property
    def row_by_row(self) -> frozenset[str]:
        """What is read from outside row by row: each row comes once."""
        ops = [op for chain in self.chains for op in chain]
        return read_row_by_row(self.graph, ops, self.first_reads - self.place.addresses.keys())

    def home(self, name: str) -> Home:
        """Return where a tensor lies.

        Args:
            name: Of the tensor.
        """
        return home_of(self.homes, name)

    def is_resident(self, name: str) -> bool:
        """Whether a tensor lies whole on chip, in a place of its own or in a concatenation.

        Args:
            name: Of the tensor.
        """
        return self.home(name).tensor in self.place.addresses

    def resident_operands(self, chain: Chain) -> frozenset[Operand]:
        """Return the operands of a chain's first member that pass in no tiles of its nest.

        Args:
            chain: The chain; its first member runs on the array.
        """
        head, found = chain[0], set[Operand]()
        if any(map(self.is_resident, weights_of(head))):
            found.add(Operand.W)
        if self.is_striped or self.is_resident(head.operands[0]):
            found.add(Operand.I)
        made = chain[-1].name
        if self.home(made).tensor not in self.ends or self.is_resident(made):
            found.add(Operand.O)
        return frozenset(found)
