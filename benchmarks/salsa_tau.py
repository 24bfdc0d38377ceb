"""How long one evaluation of SALSA takes on this machine: tau of the paper's eq. (1)."""

import time

from accnn.ir.arch import Architecture, Fanout, MemoryLevel
from accnn.ir.mapping import SpatialLoop
from accnn.ir.workload import Dim, Operand, Workload
from accnn.passes.mapping.problem import MappingProblem, Objective
from accnn.passes.mapping.search.orders.engine import SearchOptions, anneal_once
from accnn.passes.mapping.search.orders.loops import loop_prime_factors
from accnn.passes.mapping.search.orders.machine import UnrolledProblem
from accnn.passes.mapping.search.orders.orders import OrderSpace

_ORDERS = 2000
_WORKLOAD = Workload(R=3, S=3, P=28, Q=28, C=128, K=128)
_ARCH = Architecture(
    name="three-levels",
    scratchpad="gb",
    levels=(
        MemoryLevel(name="dram", holds=tuple(Operand), capacity=None),
        MemoryLevel(name="gb", holds=(Operand.I, Operand.O), capacity=131072),
        MemoryLevel(name="ib", holds=(Operand.I,), capacity=24),
        MemoryLevel(name="wb", holds=(Operand.W,), capacity=448),
        MemoryLevel(name="ab", holds=(Operand.O,), capacity=96),
    ),
    fanouts=(Fanout(name="column", below="gb", size=14),),
)


def seconds_per_order() -> float:
    """Return tau, the CPU time of one evaluation for a layer of ordinary size [s].

    Compilation is left out.
    """
    asked = MappingProblem(workload=_WORKLOAD, arch=_ARCH, objective=Objective.ENERGY)
    problem = UnrolledProblem(problem=asked, spatial=(SpatialLoop(Dim.P, 14, "column"),))
    space = OrderSpace.of(problem, loop_prime_factors(problem.temporal))
    anneal_once(space, SearchOptions(), 0, 1)
    started = time.process_time()
    run = anneal_once(space, SearchOptions(), 1, _ORDERS)
    return (time.process_time() - started) / run.evaluations
