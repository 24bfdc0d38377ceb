"""Timing as the machine's rules say it: cycle by cycle, in exact fractions."""

from dataclasses import dataclass
from fractions import Fraction

from accnn.ir.isa.instructions import Unit


@dataclass
class Run:
    """One instruction: what it asks for, and when things happened to it."""

    work: object
    waits: tuple
    is_mac: bool
    issue: int | None = None
    start: int | None = None
    stop: int | None = None
    retire: int | None = None
    done: Fraction = Fraction(0)

    def length(self, ports):
        """Cycles of the data phase alone."""
        bound = max([Fraction(n) / ports[p] for p, n in self.work.demands], default=Fraction(0))
        return max(self.work.least, -(-bound.numerator // bound.denominator))

    def late(self, bandwidths):
        """Cycles of the data phase beyond those that it takes alone; ports held it up so long."""
        return self.stop - self.start - self.length([Fraction(item) for item in bandwidths])


def retirements(program, work, bandwidths):
    """Return when each instruction of each queue retires, and None for those that never do."""
    return [[run.retire for run in queue] for queue in executed(program, work, bandwidths)]


def executed(program, work, bandwidths):
    """Return what happened to each instruction of each queue."""
    ports = [Fraction(bandwidth) for bandwidth in bandwidths]
    queues = [
        [
            Run(wanted, item.waits, queue.unit is Unit.MX)
            for wanted, item in zip(wants, queue.instructions, strict=True)
        ]
        for queue, wants in zip(program.queues, work, strict=True)
    ]
    every = [run for queue in queues for run in queue]
    time, idle = 0, 0
    while any(run.retire is None for run in every) and idle < 1000:
        changed = False
        while settle(queues, ports, time):
            changed = True
        active = [run for run in every if run.start is not None and run.stop is None]
        for run, rate in zip(active, rates([take(run, ports) for run in active]), strict=True):
            run.done += rate
        time += 1
        idle = 0 if changed or active else idle + 1
    return queues


def take(run, ports):
    """Shares of ports at full speed."""
    return {p: Fraction(n) / (ports[p] * run.length(ports)) for p, n in run.work.demands}


def rates(shares):
    """Raise all rates together; whoever meets a full port stays."""
    found = [None] * len(shares)
    while None in found:
        growing = [i for i, rate in enumerate(found) if rate is None]
        limits = {}
        for port in {port for share in shares for port in share}:
            wanted = sum(shares[i].get(port, 0) for i in growing)
            used = sum(s.get(port, 0) * r for s, r in zip(shares, found, strict=True) if r)
            if wanted:
                limits[port] = (1 - used) / wanted
        lowest = min(limits.values(), default=Fraction(1))
        for i in growing:
            if lowest >= 1:
                found[i] = Fraction(1)
            elif any(limits.get(p) == lowest for p, amount in shares[i].items() if amount):
                found[i] = lowest
    return found


def settle(queues, ports, time):
    """Let one thing happen that is due, if there is one."""
    retired = [sum(run.retire is not None for run in queue) for queue in queues]
    for queue in queues:
        for before, run in zip([None, *queue], queue, strict=False):
            if run.issue is None:
                if before is not None and (before.start if run.is_mac else before.retire) is None:
                    break
                if any(retired[wait.queue] < wait.count for wait in run.waits):
                    break
                run.issue = time
                return True
            if run.start is None:
                if time < run.issue + run.work.fill + run.work.lead:
                    break
                if run.is_mac and before is not None and before.stop is None:
                    break
                run.start = time
                return True
            if run.stop is None and run.done >= run.length(ports):
                run.stop = time
                return True
            if run.stop is not None and run.retire is None:
                late = time < run.stop + run.work.drain
                if not late and (before is None or before.retire is not None):
                    run.retire = time
                    return True
    return False
