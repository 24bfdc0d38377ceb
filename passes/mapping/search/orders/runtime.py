"""How long a search takes on this machine: tau of the paper's eq. (1), measured once and kept."""

import hashlib
import json
import logging
import platform
import time
from pathlib import Path

from .....ir.arch import Architecture, Fanout, MemoryLevel
from .....ir.cache_folder import cache_folder
from .....ir.compiled import kernel_digest
from .....ir.mapping import SpatialLoop
from .....ir.workload import Dim, Operand, Workload
from ...problem import MappingProblem, Objective
from .engine import SearchOptions, anneal_once
from .loops import loop_prime_factors
from .machine import UnrolledProblem
from .orders import OrderSpace

_LOG = logging.getLogger(__name__)
_ORDERS = 2000
_KERNEL = Path(__file__).parent / "kernel"


def seconds_per_order(folder: Path | None = None) -> float:
    """Return tau, the CPU time of one evaluation for a layer of ordinary size [s].

    Measured at the first call on a machine (and again where the kernel has changed).

    Args:
        folder: Where the figure is kept; the user's cache if ``None``.
    """
    path = (cache_folder() if folder is None else folder) / f"salsa-tau-{_key()}.json"
    try:
        return float(json.loads(path.read_text())["seconds"])
    except FileNotFoundError:
        _LOG.debug("%s: not measured on this machine yet", path)
    except (OSError, ValueError, KeyError, TypeError) as error:
        _LOG.warning("%s: %s; measuring anew", path, error)
    seconds = measure()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"seconds": seconds}))
    except OSError as error:
        _LOG.warning("cannot keep a measurement: %s", error)
    return seconds


def measure() -> float:
    """Return the CPU time of one evaluation, compilation left out [s]."""
    asked = MappingProblem(workload=_WORKLOAD, arch=_ARCH, objective=Objective.ENERGY)
    problem = UnrolledProblem(problem=asked, spatial=(SpatialLoop(Dim.P, 14, "column"),))
    space = OrderSpace.of(problem, loop_prime_factors(problem.temporal))
    anneal_once(space, SearchOptions(), 0, 1)
    started = time.process_time()
    run = anneal_once(space, SearchOptions(), 1, _ORDERS)
    return (time.process_time() - started) / run.evaluations


def _key() -> str:
    return hashlib.sha256(f"{kernel_digest(_KERNEL)} {platform.node()}".encode()).hexdigest()[:16]


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
