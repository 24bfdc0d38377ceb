"""The three scratchpad sizes of the paper, and how a user names one.

Args:
    text: What the user says.
    graph: The network.
    arch: The machine.
    include_parameters: Whether constants count.
"""

from dataclasses import dataclass
from enum import StrEnum

from ....ir.arch import Architecture
from ....ir.errors import InfeasibleError, OptionError, Shortage
from ....ir.graph import Graph
from .problem import problem_of
from .search.peak import least_peak


class NamedBudget(StrEnum):
    """A budget that follows from the graph.

    ``mr``: the least at which every operator runs with all its tensors resident. ``mp``: the
    least peak footprint of any order, at which nothing has to be spilled. ``mh``: halfway.
    """

    MR = "mr"
    MH = "mh"
    MP = "mp"


@dataclass(frozen=True, slots=True, kw_only=True)
class Budgets:
    """The named budgets of a graph [byte].

    Attributes:
        mr: ``M_R``.
        mh: ``M_H``.
        mp: ``M_P``.
        order: Operators by index, in an order whose peak footprint is ``mp``.
        proven: Whether no order has a lower peak.
    """

    mr: int
    mh: int
    mp: int
    order: tuple[int, ...]
    proven: bool

    def named(self, name: NamedBudget) -> int:
        """Return a budget by name [byte]."""
        return {NamedBudget.MR: self.mr, NamedBudget.MH: self.mh, NamedBudget.MP: self.mp}[name]


def budgets_of(graph: Graph, *, include_parameters: bool = False) -> Budgets:
    """Compute the named budgets of a graph."""
    problem = problem_of(graph, 0, include_parameters=include_parameters)
    peak, order, proven = least_peak(problem)
    mr = problem.minimum
    return Budgets(mr=mr, mh=(mr + peak) // 2, mp=peak, order=order, proven=proven)


def parse_budget(text: str, graph: Graph, *, include_parameters: bool = False) -> int:
    """Return the budget that ``mr``, ``mh``, ``mp`` or a number of bytes stands for [byte].

    Raises:
        OptionError: It is none of these.
    """
    if text in set(NamedBudget):
        budgets = budgets_of(graph, include_parameters=include_parameters)
        return budgets.named(NamedBudget(text))
    if text.isascii() and text.isdigit() and int(text) > 0:
        return int(text)
    raise OptionError(
        f"scratchpad {text!r} is no budget", hint="give mr, mh, mp or a number of bytes above 0"
    )


def requested_budget(
    text: str | None, graph: Graph, arch: Architecture, *, include_parameters: bool = False
) -> int | None:
    """Return the budget that a user asks for on a machine; ``None`` is the machine's own [byte].

    Raises:
        OptionError: It is neither a name nor a number of bytes.
        InfeasibleError: The machine has less.
    """
    if text is None:
        return None
    budget = parse_budget(text, graph, include_parameters=include_parameters)
    capacity = arch.scratchpad_level.capacity or 0
    if text in set(NamedBudget) and budget > capacity:
        raise InfeasibleError(
            f"{text} of {graph.name} is larger than the scratchpad of {arch.name}",
            shortage=Shortage(resource=arch.scratchpad, demand=budget, capacity=capacity),
            hint="give a number of bytes, or a machine with a larger scratchpad",
        )
    return budget
