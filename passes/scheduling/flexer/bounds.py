"""What no schedule of an operator, or of one tiling of it, can beat.

*Compute*: NPUs share the work at best evenly. *Transfers*: each tile of inputs and weights arrives
once at least, each output leaves once, and so do parameters; all pass the off-chip ports.
*Capacity*: between two moments the scratchpad gives only so many different tiles to the NPUs, and
so many tiles meet in so many operations only (:func:`forced_bytes`).

References:
    Hong, Kung: I/O Complexity: The Red-Blue Pebble Game. STOC 1981.
    Loomis, Whitney: An Inequality Related to the Isoperimetric Inequality. Bull. AMS 55, 1949.
"""

import math
from dataclasses import dataclass

import numpy as np

from ....ir.arch import Architecture
from .kernel.arrays import Ints, TilingArrays
from .problem import TimedTiling, off_chip_bandwidth
from .site import Site
from .tilings import Tiling, uncut


@dataclass(frozen=True, slots=True)
class Bound:
    """Lower bounds that hold together.

    Attributes:
        cycles: Of the makespan [cycle].
        bytes: Of the transfers between off-chip memory and the chip [byte].
    """

    cycles: int
    bytes: int


def site_bound(site: Site) -> Bound:
    """Return the bound of an operator, whatever its tiling: roofline of all NPUs together."""
    arch = site.arch
    moved = _leaving_and_arriving(uncut(site)).sum() + parameter_bytes(site)
    compute = math.ceil(site.workload.macs / arch.all_macs)
    return Bound(max(compute, _through_ports(arch, int(moved))), int(moved))


def _leaving_and_arriving(tiling: Tiling) -> Ints:
    """Return the sizes of inputs, weights and outputs, which are moved once at least [byte]."""
    size, accs = tiling.tile_bytes, tiling.counts[2]
    return np.concatenate([size[: -2 * accs], size[-accs:]])


def parameter_bytes(site: Site) -> int:
    """Return the bytes of bias and multipliers, each once."""
    return 4 * site.workload.G * site.workload.K * len(site.parameters)


def tiling_bound(tiling: Tiling) -> Bound:
    """Return the bound of a tiling before the time of its operations is known."""
    site, moved = tiling.site, _leaving_and_arriving(tiling)
    compulsory = int(moved.sum()) + parameter_bytes(site)
    total = max(compulsory, forced_bytes(tiling))
    compute = math.ceil(site.workload.macs / sum(map(site.arch.npu_macs, site.arch.npus)))
    return Bound(max(compute, _moving(tiling, total, int(np.count_nonzero(moved)))), total)


def timed_bound(timing: TimedTiling) -> Bound:
    """Return the bound of a tiling whose operations have their time.

    To the work of the NPUs come the first operand that must arrive and the last output that must
    leave. NPUs of different speed: for any weights ``y`` of the NPUs that add up to one, no
    schedule is faster than ``sum over operations of min over NPUs of y * latency``.
    """
    base, latency = tiling_bound(timing.tiling), timing.latency
    problem = timing.problem
    speed = 1.0 / latency.sum(axis=0)
    share = speed / speed.sum()
    least = np.minimum(latency, problem.adding)
    work = math.floor((least * share).min(axis=1).sum() * (1 - 1e-12))
    first = int(np.maximum(*(_alone(problem, problem.reads[:, role]) for role in (0, 1))).min())
    accs, tiles = len(problem.finish), len(problem.xfer)
    last = int((problem.finish + _alone(problem, np.arange(tiles - accs, tiles))).min())
    return Bound(max(base.cycles, first + work + last), base.bytes)


def _moving(tiling: Tiling, bytes: int, transfers: int) -> int:
    """Return the least time of moving so many bytes in so many transfers [cycle].

    All of them pass the port, and each keeps a channel busy for its start-up and for as long as
    the port takes if nobody else uses it.
    """
    arch = tiling.site.arch
    bandwidth = off_chip_bandwidth(arch)
    alone = 0 if bandwidth is None else math.floor(bytes / bandwidth)
    channels = (alone + transfers * arch.dma.startup) // arch.dma.channels
    return max(channels, _through_ports(arch, bytes))


def _through_ports(arch: Architecture, bytes: int) -> int:
    """Return the least time in which off-chip memory moves so many bytes [cycle]."""
    bandwidth = off_chip_bandwidth(arch)
    if bandwidth is None:
        return 0
    sides = 1 if arch.off_chip.shared_port else 2
    return math.ceil(bytes / (sides * bandwidth) * (1 - 1e-12))


def _alone(problem: TilingArrays, tiles: Ints) -> Ints:
    """Return the time of transfers that share no port; 0 for what lies on chip [cycle]."""
    return np.where(problem.resident[tiles], 0, problem.startup + problem.xfer[tiles])


def forced_bytes(tiling: Tiling) -> int:
    """Return bytes that must be transferred because the scratchpad is small.

    Cut a schedule where every ``4 M`` bytes have been transferred, ``M`` those for tiles. A part
    touches inputs and weights that lay there at its start or came in, and accumulators that lay
    there at its start or end, came in, or left as outputs: tiles of at most ``6 M`` bytes,
    accumulators counted as the smaller of themselves and their outputs. ``a`` inputs, ``b`` weights
    and ``d`` accumulators meet in at most ``sqrt(a b d)`` operations (Loomis and Whitney), so in
    ``(2 M) ** 1.5 / sqrt(product of the sizes)`` at most. All parts but the last are full.
    """
    site, size = tiling.site, tiling.tile_bytes
    if any(site.resident.values()):
        return 0
    inputs, weights, accs = tiling.counts
    first = inputs + weights
    least = [
        int(size[:inputs].min()),
        int(size[inputs:first].min()),
        int(min(size[first : first + accs].min(), size[first + accs :].min())),
    ]
    capacity = site.place.workspace_bytes
    together = (2.0 * capacity) ** 1.5 / math.sqrt(math.prod(least))
    parts = math.ceil(tiling.op_count / together * (1 - 1e-12))
    return 4 * capacity * max(0, parts - 1)
