"""The account of a run over the mesh: what the array waits for, and what links carry.

While the array does not compute, it waits for whatever its next instruction waited for last: the
copy of a tile, or the vector units that take sums. A copy that is longer at the off-chip memory
than over the mesh is waited for because of the memory. Within an instruction its nest says what
children wait for, on average.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import chain

from ...ir.arch import Dram
from ...ir.isa.instructions import AnyInstruction, Copy, Mac, Space, Unit
from ...ir.isa.program import Program
from ...ir.mesh_report import MeshLink, MeshOperator, MeshReport, OffChipUse
from ...ir.workload import Operand
from ..accesses import Way
from ..noc.dram import UNUSED
from .demands import Demand
from .events import Issue, ProgramTiming
from .over_mesh import Crossed, MeshDemands


class Held(StrEnum):
    """What the array does, or waits for."""

    COMPUTE = "compute"
    WEIGHTS = "weights"
    INPUTS = "inputs"
    SUMS = "sums"
    DRAM = "dram"
    OTHER = "other"


_OF_OPERAND = {Operand.W: Held.WEIGHTS, Operand.I: Held.INPUTS, Operand.O: Held.SUMS}


def mesh_account(
    demands: MeshDemands,
    works: Sequence[Sequence[Demand]],
    crossed: Sequence[Sequence[Crossed]],
    timing: ProgramTiming,
    analytical: ProgramTiming,
) -> MeshReport:
    """Return the account of a run.

    Args:
        demands: What instructions ask of the mesh.
        works: What each instruction asks for, by queue.
        crossed: What each instruction uses, by queue.
        timing: When they run.
        analytical: When they would where bandwidths alone count.
    """
    program, mesh = demands.program, demands.mesh
    held = _held(demands, timing)
    spans, plain = _spans(program, timing), _spans(program, analytical)
    flits = Counter[int]()
    for item in chain.from_iterable(crossed):
        flits.update(item.flits)
    hops = sum(flits.values())
    fanout = program.arch.fanout(mesh.network.fanout)
    return MeshReport(
        columns=mesh.network.columns,
        rows=mesh.network.rows,
        cycles=_end(timing),
        analytical_cycles=_end(analytical),
        serial_cycles=sum(work.alone(demands.ports) for line in works for work in line),
        operators=tuple(
            MeshOperator(
                name=name,
                cycles=spans[op],
                analytical_cycles=plain[op],
                **{str(what): held[op, what] for what in Held},
            )
            for op, name in enumerate(program.operators)
            if op in spans
        ),
        links=tuple(
            MeshLink(begin=begin, end=end, flits=flits[link])
            for link in sorted(flits)
            for begin, end in (mesh.ends(link),)
        ),
        hop_flits=hops,
        network_pj=hops * mesh.network.flit_bits / 8 * fanout.hop_energy,
        memory=_memory(program.arch.dram, crossed),
    )


def _memory(dram: Dram | None, crossed: Sequence[Sequence[Crossed]]) -> OffChipUse | None:
    if dram is None:
        return None
    read, written = (
        sum((item.memory.get(way, UNUSED) for item in chain.from_iterable(crossed)), UNUSED)
        for way in (Way.READ, Way.WRITE)
    )
    rows = read.rows + written.rows
    return OffChipUse(
        rows=rows,
        read_bursts=read.bursts,
        written_bursts=written.bursts,
        activate_pj=rows * dram.activate_pj,
        read_pj=read.bursts * dram.read_pj,
        write_pj=written.bursts * dram.write_pj,
    )


def _end(timing: ProgramTiming) -> int:
    return max((line[-1].end for line in timing.queues if line), default=0)


def _spans(program: Program, timing: ProgramTiming) -> Mapping[int, int]:
    """Return by operator the time from its first start to its last end [cycle]."""
    first, last = dict[int, int](), dict[int, int]()
    for queue, line in zip(program.queues, timing.queues, strict=True):
        for instruction, issue in zip(queue.instructions, line, strict=True):
            op = instruction.op
            first[op] = min(first.get(op, issue.start), issue.start)
            last[op] = max(last.get(op, 0), issue.end)
    return {op: last[op] - first[op] for op in first if op >= 0}


def _held(demands: MeshDemands, timing: ProgramTiming) -> Counter[tuple[int, Held]]:
    """Return by operator what the array does, or waits for [cycle]."""
    found = Counter[tuple[int, Held]]()
    for queue, line in zip(demands.program.queues, timing.queues, strict=True):
        if queue.unit is not Unit.MX:
            continue
        before = 0
        for instruction, issue in zip(queue.instructions, line, strict=True):
            if isinstance(instruction, Mac):
                idle = issue.start - before
                if idle > 0:
                    found[instruction.op, _awaited(demands, timing, instruction, before)] += idle
                for what, cycles in _inside(demands, instruction, issue, before).items():
                    found[instruction.op, what] += cycles
            before = max(before, issue.end)
    return found


def _inside(demands: MeshDemands, mac: Mac, issue: Issue, before: int) -> Mapping[Held, int]:
    """Divide the time of one instruction, from when none before it works any more."""
    whole = max(issue.end - max(issue.start, before), 0)
    run = demands.run(mac.nest, accumulate=mac.accumulate)
    computed = round(min(run.compute_cycles / max(run.cycles, 1), 1) * whole)
    rest, total = whole - computed, sum(run.waits.values())
    longest = max(run.waits, key=lambda operand: run.waits[operand])
    found = {
        _OF_OPERAND[operand]: int(rest * waited / total) if total else 0
        for operand, waited in run.waits.items()
    }
    found[_OF_OPERAND[longest]] += rest - sum(found.values())
    return {**found, Held.COMPUTE: computed}


def _awaited(demands: MeshDemands, timing: ProgramTiming, mac: Mac, before: int) -> Held:
    """Return what held up an instruction that began later than the array was free."""
    queues = demands.program.queues
    ends = {
        (wait.queue, wait.count - 1): timing.queues[wait.queue][wait.count - 1].end
        for wait in mac.waits
        if wait.count
    }
    last = max(ends, key=lambda place: ends[place], default=None)
    if last is None or ends[last] <= before:
        return Held.INPUTS  # the first tiles are on their way to the array
    return _kind(demands, queues[last[0]].instructions[last[1]])


def _kind(demands: MeshDemands, awaited: AnyInstruction) -> Held:
    if not isinstance(awaited, Copy):
        return Held.SUMS if getattr(awaited, "layout", -1) >= 0 else Held.OTHER
    if demands.is_memory_bound(awaited):
        return Held.DRAM
    if awaited.dst.space in (Space.WB, Space.PB):
        return Held.WEIGHTS
    return Held.INPUTS if awaited.src.space is Space.DRAM else Held.OTHER
