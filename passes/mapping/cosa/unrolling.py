"""A small program that bounds how fast the array can run on given extents.

Only the unrolling is decided. Steps of the array are bounded by the factors that no fan-out
takes, and by the ports that every step loads: those of the innermost memories and the links
beneath them. Its optimum bounds the latency of every even mapping with the same extents from below.
"""

import math
from collections.abc import Mapping

from ....ir.arch import Architecture, Fanout
from ....ir.workload import REDUCTION, RELEVANT, Dim, Operand, Workload
from ...mip.linear import Linear, total
from ...mip.model import MipLimits, MipModel
from ..even import prime_factors


def least_steps(
    workload: Workload,
    arch: Architecture,
    extents: Mapping[Dim, int],
    resident: frozenset[Operand] = frozenset(),
) -> float:
    """Return a lower bound of the latency of every even mapping of exactly these extents [cycle].

    Args:
        workload: What is computed.
        arch: The machine.
        extents: Extent of every dimension, padding included.
        resident: Operands that lie whole in the scratchpad.
    """
    return math.exp(_Program(workload, arch, extents, resident).solve())


class _Program:
    def __init__(
        self,
        workload: Workload,
        arch: Architecture,
        extents: Mapping[Dim, int],
        resident: frozenset[Operand],
    ) -> None:
        self.workload = workload
        self.arch = arch
        self.resident = resident
        self.model = MipModel("unrolling")
        self.logs: dict[tuple[str, Dim], Linear] = {}
        self.steps = self._add_counts(extents)
        self.latency = self.model.continuous()
        self.model.add_at_least(self.latency, self.steps)
        for fanout in arch.fanouts:
            self._add_limit((fanout,), fanout.size)
        for group in arch.groups:
            self._add_limit([arch.fanout(name) for name in group.fanouts], group.limit)
        for operand in Operand:
            self._add_ports(operand)
        self.model.minimize(self.latency)

    def solve(self) -> float:
        """Return the logarithm of the bound."""
        result = self.model.solve(MipLimits(gap_abs=0.01, nodes=500))
        return max(0.0, result.bound)

    def _add_counts(self, extents: Mapping[Dim, int]) -> Linear:
        left: list[Linear] = []
        for dim in extents:
            usable = [
                item
                for item in self.arch.fanouts
                if dim in item.dims and (item.reduction or dim not in REDUCTION)
            ]
            for prime, many in prime_factors(extents[dim]):
                counts = [self.model.integer(0, many) for item in usable if item.size >= prime]
                rest = self.model.continuous(0.0, many)
                self.model.add_equal(total([*counts, rest]), many)
                left.append(rest * math.log(prime))
                fitting = (item for item in usable if item.size >= prime)
                for fanout, count in zip(fitting, counts, strict=True):
                    known = self.logs.get((fanout.name, dim), Linear())
                    self.logs[fanout.name, dim] = known + count * math.log(prime)
        return total(left)

    def _log(self, fanout: Fanout, dims: frozenset[Dim]) -> Linear:
        return total(
            log for (name, dim), log in self.logs.items() if name == fanout.name and dim in dims
        )

    def _add_limit(self, fanouts: tuple[Fanout, ...] | list[Fanout], limit: int) -> None:
        used = total(self._log(fanout, frozenset(Dim)) for fanout in fanouts)
        self.model.add_at_most(used, math.log(limit) + 1e-7)

    def _add_ports(self, operand: Operand) -> None:
        """Every step loads the innermost memory of an operand, and the links beneath."""
        level = [item for item in self.arch.levels if operand in item.holds][-1]
        beneath = self.arch.fanouts_beneath(level.name)
        bits = self.workload.bits(operand)
        if operand is Operand.O:
            bits = max(bits, self.arch.accumulator_bits)
        passing = [
            self._log(
                fanout,
                RELEVANT[operand]
                if operand is Operand.O or operand in fanout.multicast
                else frozenset(Dim),
            )
            for fanout in beneath
        ]
        if level.read_bandwidth is not None:
            ways = 2 if operand is Operand.O and level.shared_port else 1
            if level.name == self.arch.scratchpad and operand in self.resident:
                ways = 1  # nothing is read out in the end, so an update from zero reads nothing
            load = total(passing) + math.log(ways * bits / (8 * level.read_bandwidth))
            if operand is not Operand.O or level.shared_port:
                self.model.add_at_least(self.latency, self.steps + load)
        if operand is Operand.O and level.write_bandwidth is not None and not level.shared_port:
            load = total(passing) + math.log(bits / (8 * level.write_bandwidth))
            self.model.add_at_least(self.latency, self.steps + load)
        for position, fanout in enumerate(beneath):
            if fanout.link_bandwidth is not None:
                load = total(passing[position + 1 :])
                load = load + math.log(bits / (8 * fanout.link_bandwidth))
                self.model.add_at_least(self.latency, self.steps + load)
