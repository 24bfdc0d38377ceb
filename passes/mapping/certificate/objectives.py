"""Latency and energy over lower bounds, as linear terms: compute, every port, fill and drain.

Compare :mod:`accnn.passes.analysis.batches.latency`, whose words are used here.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from ...analysis.batches.latency import FILL_ORDER
from ...analysis.traffic import bounded_ports, energy_of
from ...mip.linear import ZERO, Linear, total
from .exponentials import TANGENTS, Exponentials
from .sums import joined_logs
from .terms import FlowTerms, first_tiles, last_tiles
from .variables import Variables

_HIGHEST = 3.5
"""Largest ``theta`` up to which tangents are close."""


def add_ports(
    v: Variables,
    exponentials: Exponentials,
    flows: Sequence[FlowTerms],
    theta: Linear,
    bound: float,
) -> None:
    """Make ``theta`` bound the logarithm of compute and of every port.

    Args:
        v: The variables.
        exponentials: Those of the model.
        flows: All traffic.
        theta: Logarithm of the latency without fill and drain, over a time.
        bound: Logarithm of that time.
    """
    ports: dict[str, list[Linear]] = {"compute": [v.steps]}
    for port in bounded_ports(v.space.arch):
        own = [flow for flow in flows if flow.place == port.place and flow.way in port.directions]
        logs = joined_logs(v, own, [1.0] * len(own))
        if logs:
            name = f"{port.place}.{port.name}"
            ports[name] = [log - math.log(8 * port.bandwidth) for log in logs]
    for logs in ports.values():
        for log in logs:
            v.model.add_at_most(log - bound, theta)
        if len(logs) > 1:
            shares = [exponentials.of(log - bound - theta, TANGENTS.shares) for log in logs]
            v.model.add_at_most(total(shares), 1.0)


def steady_latency(v: Variables, theta: Linear) -> Linear:
    """Return (a lower bound of) latency without fill and drain, over its lower bound."""
    steady = v.model.continuous(1.0)
    point = 0.0
    while point < _HIGHEST:
        slope = math.exp(point)
        v.model.add_at_least(steady, slope * (theta - point) + slope)
        point += 0.03 if point < 0.3 else 0.1 if point < 1.0 else 0.3
    return steady


def time_at_the_ends(v: Variables, exponentials: Exponentials, unit: Linear) -> Linear:
    """Return (a lower bound of) fill and drain, over a time whose logarithm is given.

    Args:
        v: Variables of the program.
        exponentials: Its exponentials.
        unit: Logarithm of the time that is taken as one.
    """
    drain = [_slowest(v, exponentials, logs, unit) for logs in last_tiles(v)]
    return _fill(v, exponentials, unit) + total(drain)


def _fill(v: Variables, exponentials: Exponentials, unit: Linear) -> Linear:
    """Return when the first tiles have arrived; see ``analysis.batches.latency``."""
    order = FILL_ORDER[:2]
    logs = {operand: dict(first_tiles(v, operand)) for operand in order}
    ready = dict.fromkeys(order, ZERO)
    for level in v.space.arch.levels:
        sent: Linear | None = None
        for operand in order:
            if level.name in logs[operand]:
                time = _slowest(v, exponentials, logs[operand][level.name], unit)
                arrival = ready[operand] + time
                if sent is not None:
                    later = v.model.continuous()
                    v.model.add_at_least(later, arrival)
                    v.model.add_at_least(later, sent + time)
                    arrival = later
                ready[operand] = sent = arrival
    fill = v.model.continuous()
    for arrival in ready.values():
        v.model.add_at_least(fill, arrival)
    return fill


def _slowest(
    v: Variables, exponentials: Exponentials, logs: Sequence[Linear], unit: Linear
) -> Linear:
    """Return the time of the slowest of several ports."""
    slowest = v.model.continuous()
    for log in logs:
        v.model.add_at_least(slowest, exponentials.of(log - unit, TANGENTS.small))
    return slowest


def total_energy(
    v: Variables,
    exponentials: Exponentials,
    flows: Sequence[FlowTerms],
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
    whole: list[FlowTerms] = []
    prices: list[float] = []
    for flow in flows:
        word, energy = energy_of(arch, flow.place, flow.way)
        if energy > 0.0:
            whole.append(replace(flow, log=flow.log + flow.instances, instances=ZERO))
            prices.append(energy / word)
    logs = joined_logs(v, whole, prices)
    macs = math.prod(v.space.extents.values()) * arch.mac_energy
    if macs:
        logs.append(Linear({}, math.log(macs)))
    return total(exponentials.of(log - unit, points) for log in logs)
