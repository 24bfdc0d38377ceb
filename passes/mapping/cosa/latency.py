"""Latency over a lower bound, as linear terms: compute, every port, fill and drain.

Compare :mod:`accnn.passes.analysis.latency`, whose words are used here.
"""

import math
from collections.abc import Sequence

from ....ir.arch import Architecture
from ...analysis.latency import FILL_ORDER
from ...mip.linear import ZERO, Linear, total
from .exponentials import TANGENTS, Exponentials
from .sums import joined_logs
from .terms import Flow, Passage, drain_passages, fill_passages
from .variables import Variables

_HIGHEST = 3.5
"""Largest ``theta`` up to which tangents are close."""


def add_ports(
    v: Variables,
    exponentials: Exponentials,
    flows: Sequence[Flow],
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
    for place, way, bandwidth in _bounded(v.space.arch):
        logs = _port_logs(v, flows, place, way)
        if logs:
            name = f"{place}.{way}"
            ports[name] = [log - math.log(8 * bandwidth) for log in logs]
    for logs in ports.values():
        for log in logs:
            v.model.add_at_most(log - bound, theta)
        if len(logs) > 1:
            shares = [exponentials.of(log - bound - theta, TANGENTS.shares) for log in logs]
            v.model.add_at_most(total(shares), 1.0)


def _bounded(arch: Architecture) -> Sequence[tuple[str, str, float]]:
    """Return the ports of bounded bandwidth: place, way and bandwidth."""
    found: list[tuple[str, str, float]] = []
    for level in arch.levels:
        if level.shared_port:
            if level.read_bandwidth is not None:
                found.append((level.name, "port", level.read_bandwidth))
            continue
        if level.read_bandwidth is not None:
            found.append((level.name, "read", level.read_bandwidth))
        if level.write_bandwidth is not None:
            found.append((level.name, "write", level.write_bandwidth))
    for fanout in arch.fanouts:
        if fanout.link_bandwidth is not None:
            found.append((fanout.name, "down", fanout.link_bandwidth))
            found.append((fanout.name, "up", fanout.link_bandwidth))
    return found


def _port_logs(v: Variables, flows: Sequence[Flow], place: str, way: str) -> list[Linear]:
    """Return the logarithms of bits whose sum passes a port."""
    ways = ("read", "write") if way == "port" else (way,)
    chosen = [flow for flow in flows if flow.place == place and flow.way in ways]
    return joined_logs(v, chosen, [1.0] * len(chosen))


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
    """Return (a lower bound of) fill and drain, over a time whose logarithm is given."""
    drain = [_slowest(v, exponentials, passages, unit) for passages in drain_passages(v)]
    return _fill(v, exponentials, unit) + total(drain)


def _fill(v: Variables, exponentials: Exponentials, unit: Linear) -> Linear:
    """Return when the first tiles have arrived; see ``analysis.latency.fill_cycles``."""
    stages = {operand: dict(fill_passages(v, operand)) for operand in FILL_ORDER}
    ready = dict.fromkeys(FILL_ORDER, ZERO)
    for level in range(len(v.space.arch.levels)):
        sent: Linear | None = None
        for operand in FILL_ORDER:
            if level in stages[operand]:
                time = _slowest(v, exponentials, stages[operand][level], unit)
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
    v: Variables, exponentials: Exponentials, passages: Sequence[Passage], unit: Linear
) -> Linear:
    """Return the time of the slowest of several ports."""
    slowest = v.model.continuous()
    for passage in passages:
        v.model.add_at_least(slowest, exponentials.of(passage.log - unit, TANGENTS.small))
    return slowest
