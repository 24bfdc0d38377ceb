"""Energy over a lower bound, as linear terms: MACs, every memory and every link."""

import math
from collections.abc import Sequence
from dataclasses import replace

from ...mip.linear import ZERO, Linear, total
from .exponentials import Exponentials
from .sums import joined_logs
from .terms import Flow
from .variables import Variables


def total_energy(
    v: Variables,
    exponentials: Exponentials,
    flows: Sequence[Flow],
    unit: Linear,
    points: Sequence[float],
) -> Linear:
    """Return (a lower bound of) energy, over an energy whose logarithm is given.

    Args:
        v: The variables.
        exponentials: Those of the model.
        flows: All traffic.
        unit: Logarithm of the energy that counts as one.
        points: Where tangents bound the parts.
    """
    arch = v.space.arch
    prices: dict[tuple[str, str], float] = {}
    for level in arch.levels:
        prices[level.name, "read"] = level.read_energy / level.word_bits
        prices[level.name, "write"] = level.write_energy / level.word_bits
    for fanout in arch.fanouts:
        prices[fanout.name, "down"] = prices[fanout.name, "up"] = fanout.hop_energy / 8
    whole = [
        replace(flow, log=flow.log + flow.instances, instances=ZERO)
        for flow in flows
        if prices[flow.place, flow.way] > 0.0
    ]
    logs = joined_logs(v, whole, [prices[flow.place, flow.way] for flow in whole])
    macs = math.prod(v.space.extents.values()) * arch.mac_energy
    if macs:
        logs.append(Linear({}, math.log(macs)))
    return total(exponentials.of(log - unit, points) for log in logs)
