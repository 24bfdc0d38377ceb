"""CoSA as a mixed-integer program that is near-linear in logarithms: what is minimised.

A mapping gives every prime factor of every dimension to the temporal loops of a level or to a
fan-out (CoSA's idea), so extents, tiles and traffic are products, and their logarithms linear.
Deviation from the paper, which this formulation replaces where that makes it exact or faster:

- equal prime factors are counted, not distinguished (no symmetric copies of one mapping);
- an order of loops is given by the operand that it keeps stationary, not by ranks and the products
  ``X * Y`` of eq. (10);
- the tile of an input has its halo; a memory that several operands share has an exact capacity;
- the objective is the latency (and energy) of the cost model, with every port, fill and drain:
  not a sum of logarithms over all traffic, which would minimise a product of unlike things.

Sums of exponentials are bounded from below by tangents, so the optimum of the program is a lower
bound of the best mapping's objective: the certificate.

References:
    Q. Huang et al.: CoSA: Scheduling by Constrained Optimization for Spatial Accelerators.
    ISCA 2021.
"""

import math
from collections.abc import Sequence

from ....ir.workload import Operand
from ...mip.linear import Linear
from ...mip.model import MipModel, MipResult, Solver
from ..problem import Objective
from ..search.even.space import EvenSpace
from .constraints import add_capacity, add_symmetry, add_unrolling, keep_resident_sums
from .exponentials import TANGENTS, Exponentials
from .objectives import add_ports, steady_latency, time_at_the_ends, total_energy
from .terms import flows
from .variables import Variables

_TINY = 1e-7
_WORST = 30.0
"""Latency over its lower bound beyond which mappings are of no interest, on 1024 MACs or more."""

_LEAST = {Objective.LATENCY: 1.0, Objective.ENERGY: 1.0, Objective.EDP: 0.0}
"""What the program minimises, where the lower bounds are met."""


class Formulation:
    """The program for one space.

    What is minimised is latency or energy over its lower bound or, for the energy-delay product,
    the sum of the logarithms of both ratios.

    Args:
        space: What is mapped; the lower bound of what is minimised is not zero.
        below: Value of the objective, in the cost model's units, that solutions must not exceed.
        solver: Which solver will solve it.
    """

    def __init__(
        self,
        space: EvenSpace,
        below: float = math.inf,
        solver: Solver = Solver.HIGHS,
    ) -> None:
        self.model = MipModel("cosa", solver)
        self.space = space
        self.objective = objective = space.problem.objective
        self.cycles_bound = space.problem.cycles_bound
        self.energy_bound = space.problem.energy_bound
        self.variables = Variables(self.model, space, _idle_slots(space, objective))
        self.flows = tuple(flows(self.variables))
        self._exponentials = Exponentials(self.model)
        add_unrolling(self.variables)
        add_capacity(self.variables, self._exponentials)
        keep_resident_sums(self.variables)
        add_symmetry(self.variables)
        worst = _WORST * max(1.0, 1024 / space.arch.macs)
        self._reach = math.inf
        if objective is not Objective.ENERGY:
            self._reach = worst * self.in_units(_LEAST[objective])
        most = min(worst, below / self.in_units(_LEAST[objective]))
        self.theta = self.model.continuous(0.0, max(0.0, math.log(most)) + _TINY)
        self._whole = self._minimised()
        if below < math.inf:
            self.limit(below)
        self.model.minimize(self._whole)

    def limit(self, below: float) -> None:
        """Bar solutions whose objective exceeds a value, in the cost model's units."""
        self.model.add_at_most(self._whole, self._of_units(below))

    def sharpen(self, result: MipResult) -> bool:
        """Add tangents where a solution makes exponentials too small; return whether there are."""
        return self._exponentials.sharpen(result)

    def proven_by(self, result: MipResult) -> float:
        """Return what a solve proves of every even mapping, in the cost model's units.

        The program leaves out mappings that are ``_WORST`` times slower than the lower bound: of
        these it proves no more than that.
        """
        return min(self.in_units(result.bound), self._reach)

    def in_units(self, value: float) -> float:
        """Return the objective, in the cost model's units, of a value of the program's."""
        match self.objective:
            case Objective.LATENCY | Objective.NETWORK:
                return max(1.0, value) * self.cycles_bound
            case Objective.ENERGY:
                return max(1.0, value) * self.energy_bound
            case Objective.EDP:
                return math.exp(max(0.0, value)) * self.cycles_bound * self.energy_bound

    def _of_units(self, value: float) -> float:
        ratio = value / self.in_units(_LEAST[self.objective])
        return math.log(ratio) if self.objective is Objective.EDP else ratio

    def _minimised(self) -> Linear:
        """Return what the program minimises."""
        cycles = math.log(self.cycles_bound)
        match self.objective:
            case Objective.LATENCY | Objective.NETWORK:
                self._add_ports()
                steady = steady_latency(self.variables, self.theta)
                return steady + self._at_the_ends(Linear({}, cycles))
            case Objective.ENERGY:
                return self._energy(Linear({}, math.log(self.energy_bound)), TANGENTS.small)
            case Objective.EDP:
                energy = math.log(self.energy_bound)
                self._add_ports()
                time, joules = self.model.continuous(), self.model.continuous()
                self.model.add_at_most(self.theta, time)
                steady = self._exponentials.of(self.theta - time, TANGENTS.shares)
                self.model.add_at_most(steady + self._at_the_ends(time + cycles), 1.0)
                self.model.add_at_most(self._energy(joules + energy, TANGENTS.shares), 1.0)
                return time + joules

    def _add_ports(self) -> None:
        bound = math.log(self.cycles_bound)
        add_ports(self.variables, self._exponentials, self.flows, self.theta, bound)

    def _at_the_ends(self, unit: Linear) -> Linear:
        return time_at_the_ends(self.variables, self._exponentials, unit)

    def _energy(self, unit: Linear, points: Sequence[float]) -> Linear:
        return total_energy(self.variables, self._exponentials, self.flows, unit, points)


def _idle_slots(space: EvenSpace, objective: Objective) -> frozenset[int]:
    """Return innermost levels whose own loops cannot change the latency.

    They keep one operand, and neither they, the memory above, nor the links between have a
    bounded port; only energy tells their loops from those of the level above.
    """
    if objective is not Objective.LATENCY:
        return frozenset()
    found: set[int] = set()
    arch = space.arch
    for level in reversed(space.slots):
        keeps = [chain for chain in space.chains.values() if level in chain[1:]]
        if level == space.chains[Operand.O][-1] or len(keeps) != 1:
            break
        (chain,) = keeps
        parent = chain[chain.index(level) - 1]
        between = [item for item in arch.fanouts if parent <= arch.index(item.below) < level]
        bounded = (
            arch.levels[parent].read_bandwidth is not None
            or arch.levels[level].write_bandwidth is not None
            or arch.levels[level].read_bandwidth is not None
            or any(item.link_bandwidth is not None for item in between)
        )
        if bounded:
            break
        found.add(level)
    return frozenset(found)
