"""A small program that bounds how fast the array can run on given extents.

Only the unrolling is decided. Steps of the array are bounded by the factors that no fan-out
takes, and by the ports that every step loads: those of the innermost memories and the links
beneath them. Its optimum bounds the latency of every even mapping with the same extents from below.
"""

import math
from collections.abc import Mapping
from functools import lru_cache

from ....ir.arch import Fanout
from ....ir.workload import OPERANDS, REDUCTION, RELEVANT, Dim, Operand
from ...analysis.batches.coefficients import widths_of
from ...analysis.batches.counts import chains_of
from ...analysis.flows import Factors, Kind, flow_table
from ...analysis.traffic import Direction, bounded_ports
from ...mip.linear import Linear, total
from ...mip.model import MipLimits, MipModel
from ..problem import MappingProblem
from ..search.even.space import prime_factors


def least_steps(problem: MappingProblem, extents: Mapping[Dim, int]) -> float:
    """Return a lower bound of the latency of every even mapping of exactly these extents [cycle].

    Args:
        problem: What is mapped.
        extents: Extent of every dimension, padding included.
    """
    return _least_steps(problem, tuple(extents.items()))


@lru_cache(maxsize=64)
def _least_steps(problem: MappingProblem, extents: tuple[tuple[Dim, int], ...]) -> float:
    """Return the bound; who maps a problem asks before and behind its own program."""
    return math.exp(_Program(problem, dict(extents)).solve())


class _Program:
    def __init__(self, problem: MappingProblem, extents: Mapping[Dim, int]) -> None:
        self.arch = arch = problem.machine
        self.model = MipModel("unrolling")
        self.logs: dict[tuple[str, Dim], Linear] = {}
        self.steps = self._add_counts(extents)
        self.latency = self.model.continuous()
        self.model.add_at_least(self.latency, self.steps)
        for fanout in arch.fanouts:
            self._add_limit((fanout,), fanout.size)
        for group in arch.groups:
            self._add_limit([arch.fanout(name) for name in group.fanouts], group.limit)
        self._add_ports(problem)
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

    def _add_ports(self, problem: MappingProblem) -> None:
        """Every step loads the innermost memory of each operand, and the links beneath.

        Updates from zero read nothing: where no memory is further out, they may be all there are.
        """
        names = [tuple(i.name for i in self.arch.levels if x in i.holds) for x in OPERANDS]
        table = flow_table(
            self.arch, chains_of(dict(zip(OPERANDS, names, strict=True)), self.arch, problem.held)
        )
        macs = [flow for flow in table.flows if flow.at_macs]
        starts = any(flow.kind is Kind.START for flow in macs)
        widths = widths_of(problem.workload, self.arch)
        bits = {Operand.W: widths.W, Operand.I: widths.I, Operand.O: widths.psum}
        for port in bounded_ports(self.arch):
            passing = [
                flow
                for flow in macs
                if flow.place == port.place
                and flow.direction in port.directions
                and flow.kind is Kind.MOVE
                and not (flow.operand is Operand.O and flow.direction is Direction.READ and starts)
            ]
            for operand in OPERANDS:
                own = [flow for flow in passing if flow.operand is operand]
                if own:
                    cycles = len(own) * bits[operand] / (8 * port.bandwidth)
                    load = self._product(operand, own[0].tiles) + math.log(cycles)
                    self.model.add_at_least(self.latency, self.steps + load)

    def _product(self, operand: Operand, factors: Factors) -> Linear:
        """Return the logarithm of a product of unrolled extents."""
        return total(
            log
            for (fanout, dim), log in self.logs.items()
            if (fanout, dim in RELEVANT[operand]) in factors
        )
