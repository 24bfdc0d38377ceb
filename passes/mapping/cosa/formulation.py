"""CoSA as a mixed-integer program that is near-linear in logarithms: constraints and objective.

A mapping gives every prime factor of every dimension to the temporal loops of a level or to a
fan-out (CoSA's idea), so extents, tiles and traffic are products, and their logarithms linear.
Deviation from the paper, which this formulation replaces where that makes it exact or faster:

- equal prime factors are counted, not told apart (no symmetric copies of one mapping);
- an order of loops is told by the operand that it keeps stationary, not by ranks and the products
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
from dataclasses import dataclass

from ....ir.arch import Fanout
from ....ir.workload import Dim, Operand
from ...analysis.bounds import cycles_lower_bound, energy_lower_bound
from ...analysis.latency import FILL_ORDER
from ...mip.linear import ZERO, Linear, total
from ...mip.model import MipModel, MipResult, Solver
from ..base import Objective
from ..even import EvenSpace
from .terms import Flow, Passage, drain_passages, fill_passages, flows
from .variables import Variables

_TINY = 1e-7
_BIG = 30.0
_HIGHEST = 3.5
_LARGEST = 3.0
_BLUNT = 2e-4
_WORST = 30.0
"""Latency over its lower bound beyond which mappings are of no interest, on 1024 MACs or more."""

_LEAST = {Objective.LATENCY: 1.0, Objective.ENERGY: 1.0, Objective.EDP: 0.0}
"""What the program minimises, where the lower bounds are met."""


@dataclass(frozen=True, slots=True)
class _Group:
    """Flows whose bits differ by a constant factor only."""

    operand: Operand
    visits: int | None
    reducing: tuple[Fanout, ...]
    terms: tuple[tuple[int, float], ...]
    constant: float

    def same_but_reducing(self, other: "_Group") -> bool:
        """Whether both move the same elements."""
        return (self.operand, self.visits, self.terms, self.constant) == (
            other.operand,
            other.visits,
            other.terms,
            other.constant,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Tangents:
    """Where exponentials are bounded by tangents; more are closer, and slower.

    Attributes:
        shares: For parts of a whole that is full at zero.
        small: For parts of the latency and the energy.
    """

    shares: tuple[float, ...]
    small: tuple[float, ...]


TANGENTS = Tangents(
    shares=(
        *(0.0, -0.06, -0.14, -0.25, -0.4, -0.6, -0.85),
        *(-1.15, -1.5, -1.9, -2.4, -3.1, -4.2, -6.0),
    ),
    small=(1.0, 0.5, 0.0, -0.5, -1.0, -1.5, -2.0, -2.5, -3.0, -3.5, -4.2, -5.0, -6.0, -8.0),
)


class Formulation:
    """The program for one space.

    What is minimised is latency or energy over its lower bound or, for the energy-delay product,
    the sum of the logarithms of both ratios.

    Args:
        space: What is mapped.
        objective: What is minimised.
        below: Value of the objective, in the cost model's units, that solutions must not exceed.
        solver: Which solver will solve it.
    """

    def __init__(
        self,
        space: EvenSpace,
        objective: Objective,
        below: float = math.inf,
        solver: Solver = Solver.HIGHS,
    ) -> None:
        self.model = MipModel("cosa", solver)
        self.space = space
        self.objective = objective
        self.cycles_bound = cycles_lower_bound(space.workload, space.arch, space.resident)
        self.energy_bound = energy_lower_bound(space.workload, space.arch, space.resident)
        self.variables = Variables(self.model, space, _idle_slots(space, objective))
        self.flows = tuple(flows(self.variables))
        self._exponentials: list[tuple[Linear, Linear]] = []
        self._add_unrolling()
        self._add_capacity()
        self._keep_resident_sums()
        self._add_symmetry()
        worst = _WORST * max(1.0, 1024 / space.arch.macs)
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
        found = False
        for size, exponent in self._exponentials:
            at = min(result.value(exponent), _LARGEST)
            if math.exp(at) - result.value(size) > _BLUNT:
                self._add_tangent(size, exponent, at)
                found = True
        return found

    def in_units(self, value: float) -> float:
        """Return the objective, in the cost model's units, of a value of the program's."""
        match self.objective:
            case Objective.LATENCY:
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
        cycles, energy = math.log(self.cycles_bound), math.log(self.energy_bound)
        match self.objective:
            case Objective.LATENCY:
                self._add_ports()
                return self._steady() + self._at_the_ends(Linear({}, cycles))
            case Objective.ENERGY:
                return self._energy(Linear({}, energy), TANGENTS.small)
            case Objective.EDP:
                self._add_ports()
                time, joules = self.model.continuous(), self.model.continuous()
                self.model.add_at_most(self.theta, time)
                steady = self._exp(self.theta - time, TANGENTS.shares)
                self.model.add_at_most(steady + self._at_the_ends(time + cycles), 1.0)
                self.model.add_at_most(self._energy(joules + energy, TANGENTS.shares), 1.0)
                return time + joules

    # -- constraints ---------------------------------------------------------------------------

    def _add_unrolling(self) -> None:
        """A fan-out has so many children (paper: eq. 4)."""
        arch, v = self.space.arch, self.variables
        for fanout in arch.fanouts:
            used = v.unrolled((fanout,))
            self.model.add_at_most(used, math.log(fanout.size) + _TINY)
        for group in arch.groups:
            used = v.unrolled([arch.fanout(name) for name in group.fanouts])
            self.model.add_at_most(used, math.log(group.limit) + _TINY)

    def _add_capacity(self) -> None:
        """Tiles fit their memories (paper: eq. 2)."""
        for index, level in enumerate(self.space.arch.levels):
            if level.usable is None:
                continue
            room = math.log(8 * level.usable or 0.5) - _TINY  # less than a bit, if there is none
            shares = [
                self._tile_bits(operand, index) - room
                for operand in Operand
                if index in self.space.chains[operand][1:]
            ]
            if len(shares) == 1:
                self.model.add_at_most(shares[0], 0.0)
            elif shares:
                parts = [self._exp(share, TANGENTS.shares) for share in shares]
                self.model.add_at_most(total(parts), 1.0)
                for share in shares:
                    self.model.add_at_most(share, 0.0)

    def _keep_resident_sums(self) -> None:
        """Outputs that lie in the scratchpad are finished: no sums come back to them."""
        chain = self.space.chains[Operand.O]
        if Operand.O in self.space.resident and len(chain) > 1:
            self.model.add_at_most(self.variables.repeats(chain[1]), 0.0)

    def _tile_bits(self, operand: Operand, level: int) -> Linear:
        v, chain = self.variables, self.space.chains[operand]
        tile = v.tile(operand, level)
        if operand is not Operand.O:
            return tile + math.log(self.space.workload.bits(operand))
        if level == chain[-1]:
            return tile + math.log(v.psum_bits)
        out = self.space.workload.output_bits
        inner = chain[chain.index(level) + 1]
        wider = math.log(max(v.psum_bits, out) / out)
        return tile + wider * v.spill(inner) + math.log(out)

    def _add_symmetry(self) -> None:
        """Rows and columns may be exchanged: keep one of each pair of mirrored mappings."""
        work, v = self.space.workload, self.variables
        same = (
            self.space.extents[Dim.P] == self.space.extents[Dim.Q] > 1
            and self.space.extents[Dim.R] == self.space.extents[Dim.S]
            and work.stride[0] == work.stride[1]
            and work.dilation[0] == work.dilation[1]
            and all(
                (Dim.P in item.dims) == (Dim.Q in item.dims) for item in self.space.arch.fanouts
            )
            and all(
                (Dim.R in item.dims) == (Dim.S in item.dims) for item in self.space.arch.fanouts
            )
        )
        if same:
            slots = [*v.slots, *(fanout.name for fanout in self.space.arch.fanouts)]
            weighted = [
                (at + 1) * (v.log(slot, (Dim.P,)) - v.log(slot, (Dim.Q,)))
                for at, slot in enumerate(slots)
            ]
            self.model.add_at_least(total(weighted), 0.0)

    # -- latency -------------------------------------------------------------------------------

    def _add_ports(self) -> None:
        """``theta`` bounds the logarithm of compute and of every port, over the lower bound."""
        ports: dict[str, list[Linear]] = {"compute": [self.variables.steps]}
        for place, way, bandwidth in self._bounded():
            logs = self._port_logs(place, way)
            if logs:
                name = f"{place}.{way}"
                ports[name] = [log - math.log(8 * bandwidth) for log in logs]
        bound = math.log(self.cycles_bound)
        for logs in ports.values():
            for log in logs:
                self.model.add_at_most(log - bound, self.theta)
            if len(logs) > 1:
                shares = [self._exp(log - bound - self.theta, TANGENTS.shares) for log in logs]
                self.model.add_at_most(total(shares), 1.0)

    def _bounded(self) -> Sequence[tuple[str, str, float]]:
        found: list[tuple[str, str, float]] = []
        for level in self.space.arch.levels:
            if level.shared_port:
                if level.read_bandwidth is not None:
                    found.append((level.name, "port", level.read_bandwidth))
                continue
            if level.read_bandwidth is not None:
                found.append((level.name, "read", level.read_bandwidth))
            if level.write_bandwidth is not None:
                found.append((level.name, "write", level.write_bandwidth))
        for fanout in self.space.arch.fanouts:
            if fanout.link_bandwidth is not None:
                found.append((fanout.name, "down", fanout.link_bandwidth))
                found.append((fanout.name, "up", fanout.link_bandwidth))
        return found

    def _port_logs(self, place: str, way: str) -> list[Linear]:
        """Return the logarithms of bits whose sum passes a port."""
        ways = ("read", "write") if way == "port" else (way,)
        chosen = [flow for flow in self.flows if flow.place == place and flow.way in ways]
        return self._joined(chosen, [1.0] * len(chosen))

    def _joined(self, chosen: Sequence[Flow], prices: Sequence[float]) -> list[Linear]:
        """Return logarithms of priced bits; flows of one tensor and child are added up exactly."""
        groups: dict[_Group, list[float]] = {}
        logs: dict[_Group, Linear] = {}
        for flow, price in zip(chosen, prices, strict=True):
            terms = tuple(sorted((at, w) for at, w in flow.log.terms.items() if w != 0.0))
            key = _Group(flow.operand, flow.visits, flow.reducing, terms, flow.log.constant)
            if not flow.reducing:
                similar = (item for item in groups if item.same_but_reducing(key))
                key = next(similar, key)
            entry = groups.setdefault(key, [0.0, 0.0, 0.0])
            entry[0] += flow.repeats * price
            entry[1] += flow.once * price
            entry[2] += flow.partly * price
            logs[key] = flow.log
        found: list[Linear] = []
        for key, (repeats, once, partly) in groups.items():
            log = self._repeated(logs[key], repeats, once, key.visits)
            if log is not None and key.reducing:
                log = self._unless_finished(log, logs[key], key, repeats, once, partly)
            if log is not None:
                found.append(log)
        return found

    def _unless_finished(
        self, done: Linear, log: Linear, key: "_Group", repeats: float, once: float, partly: float
    ) -> Linear:
        """Return the larger of a logarithm and what holds where sums are added further out."""
        wide = self._repeated(log, repeats, partly, key.visits)
        assert wide is not None
        slack = math.log(repeats - partly) - math.log(repeats - once)
        larger = self.model.continuous(-math.inf)
        self.model.add_at_least(larger, done)
        reduced = self.variables.reduced(key.reducing)
        self.model.add_at_least(larger, wide - slack + slack * reduced)
        return larger

    def _repeated(
        self, log: Linear, repeats: float, once: float, level: int | None
    ) -> Linear | None:
        """Return (a lower bound of) ``log + ln(repeats * e^k - once)``, ``k`` repeats of a level.

        ``k`` is zero, or between its least and most positive value, where the function is concave:
        exact at zero and at both ends, a chord between.
        """
        v = self.variables
        if repeats == 0.0:
            return None
        if level is None:
            return log + math.log(repeats)
        if v.most_repeats == 0.0:
            return log + math.log(repeats - once) if repeats > once else None
        if once == 0.0:
            return log + v.repeats(level) + math.log(repeats)
        low, high = v.least_repeats, v.most_repeats
        at_low = math.log(repeats * math.exp(low) - once)
        at_high = math.log(repeats * math.exp(high) - once)
        slope = (at_high - at_low) / (high - low) if high > low else 1.0
        at_zero = math.log(repeats - once) if repeats > once else at_low - _BIG
        spill = v.spill(level)
        risen = at_zero + (at_low - at_zero - slope * low) * spill + slope * v.repeats(level)
        return log + risen

    def _steady(self) -> Linear:
        """Return (a lower bound of) latency without fill and drain, over its lower bound."""
        steady = self.model.continuous(1.0)
        point = 0.0
        while point < _HIGHEST:
            slope = math.exp(point)
            self.model.add_at_least(steady, slope * (self.theta - point) + slope)
            point += 0.03 if point < 0.3 else 0.1 if point < 1.0 else 0.3
        return steady

    def _at_the_ends(self, unit: Linear) -> Linear:
        """Return (a lower bound of) fill and drain, over a time whose logarithm is given."""
        drain = [self._slowest(passages, unit) for passages in drain_passages(self.variables)]
        return self._fill(unit) + total(drain)

    def _fill(self, unit: Linear) -> Linear:
        """Return when the first tiles have arrived; see ``analysis.latency.fill_cycles``."""
        stages = {operand: dict(fill_passages(self.variables, operand)) for operand in FILL_ORDER}
        ready = dict.fromkeys(FILL_ORDER, ZERO)
        for level in range(len(self.space.arch.levels)):
            sent: Linear | None = None
            for operand in FILL_ORDER:
                if level in stages[operand]:
                    time = self._slowest(stages[operand][level], unit)
                    arrival = ready[operand] + time
                    if sent is not None:
                        later = self.model.continuous()
                        self.model.add_at_least(later, arrival)
                        self.model.add_at_least(later, sent + time)
                        arrival = later
                    ready[operand] = sent = arrival
        fill = self.model.continuous()
        for arrival in ready.values():
            self.model.add_at_least(fill, arrival)
        return fill

    def _slowest(self, passages: Sequence[Passage], unit: Linear) -> Linear:
        """Return the time of the slowest of several ports."""
        slowest = self.model.continuous()
        for passage in passages:
            self.model.add_at_least(slowest, self._exp(passage.log - unit, TANGENTS.small))
        return slowest

    # -- energy --------------------------------------------------------------------------------

    def _energy(self, unit: Linear, points: Sequence[float]) -> Linear:
        """Return (a lower bound of) energy, over an energy whose logarithm is given."""
        arch = self.space.arch
        prices: dict[tuple[str, str], float] = {}
        for level in arch.levels:
            prices[level.name, "read"] = level.read_energy / level.word_bits
            prices[level.name, "write"] = level.write_energy / level.word_bits
        for fanout in arch.fanouts:
            prices[fanout.name, "down"] = prices[fanout.name, "up"] = fanout.hop_energy / 8
        whole = [
            Flow(
                operand=flow.operand,
                place=flow.place,
                way=flow.way,
                log=flow.log + flow.instances,
                repeats=flow.repeats,
                once=flow.once,
                partly=flow.partly,
                reducing=flow.reducing,
                visits=flow.visits,
                instances=ZERO,
            )
            for flow in self.flows
            if prices[flow.place, flow.way] > 0.0
        ]
        logs = self._joined(whole, [prices[flow.place, flow.way] for flow in whole])
        macs = math.prod(self.space.extents.values()) * arch.mac_energy
        if macs:
            logs.append(Linear({}, math.log(macs)))
        return total(self._exp(log - unit, points) for log in logs)

    # -- exponentials --------------------------------------------------------------------------

    def _exp(self, log: Linear, points: Sequence[float]) -> Linear:
        """Return a variable that tangents keep above ``exp(log)`` at the given points."""
        if log.is_constant:
            return Linear({}, math.exp(log.constant))
        size = self.model.continuous()
        exponent = self.model.continuous(-math.inf)
        self.model.add_equal(exponent, log)
        for point in points:
            self._add_tangent(size, exponent, point)
        self._exponentials.append((size, exponent))
        return size

    def _add_tangent(self, size: Linear, exponent: Linear, point: float) -> None:
        slope = math.exp(point)
        self.model.add_at_least(size, slope * exponent + slope * (1.0 - point))


def _idle_slots(space: EvenSpace, objective: Objective) -> frozenset[int]:
    """Return innermost levels whose own loops cannot change the latency.

    They keep one operand, and neither they, the memory above, nor the links between have a
    bounded port; only energy tells their loops from those of the level above.
    """
    if objective is not Objective.LATENCY:
        return frozenset()
    found: set[int] = set()
    arch = space.arch
    for level in reversed(space.slots[1:]):
        keeps = [chain for chain in space.chains.values() if level in chain[1:]]
        if level == space.chains[Operand.O][-1] or len(keeps) != 1:
            break
        parent = keeps[0][keeps[0].index(level) - 1]
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
