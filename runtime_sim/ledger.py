"""Accounts per operator: who was busy, what was moved, what it cost.

Off-chip memory, scratchpad and the memories that copies and vector instructions touch are counted
from the instructions themselves, byte by byte; memories and links of the arrays as descriptors and
layouts say (``array``).
"""

import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice

from ..ir.arch import Architecture
from ..ir.errors import SimulationError
from ..ir.isa.instructions import AnyInstruction, Copy, Fill, Halt, Mac, Space, Sync, Unit
from ..ir.isa.program import Program, Symbol, SymbolKind
from ..ir.isa.spaces import level_of_space
from ..ir.workload import OPERANDS, Operand
from .accesses import ByteTouch, Way
from .array.arrays import Arrays, Moved
from .array.counts import Side
from .array.run import ArrayRun
from .result import (
    Energy,
    LevelEnergy,
    LevelTraffic,
    OffChipTraffic,
    OperatorAccount,
    PortStall,
    UnitBusy,
)
from .timing.demands import lane_cycles
from .timing.events import Issue
from .timing.over_mesh import Crossed


@dataclass(slots=True)
class _Entry:
    """Sums of one operator while the program runs."""

    first: int | None = None
    last: int = 0
    instructions: int = 0
    vector_elements: int = 0
    hops: int = 0
    commands_pj: float = 0.0
    busy: Counter[Unit] = field(default_factory=Counter[Unit])
    runs: Counter[tuple[int, int, bool]] = field(default_factory=Counter[tuple[int, int, bool]])
    inside: Counter[tuple[str, Operand, Way]] = field(
        default_factory=Counter[tuple[str, Operand, Way]]
    )
    links: dict[str, Fraction] = field(default_factory=lambda: defaultdict[str, Fraction](Fraction))
    off_chip: Counter[tuple[SymbolKind, Way]] = field(
        default_factory=Counter[tuple[SymbolKind, Way]]
    )
    spaces: Counter[tuple[Space, Operand, Way]] = field(
        default_factory=Counter[tuple[Space, Operand, Way]]
    )
    stalls: Counter[str] = field(default_factory=Counter[str])

    def add(self, other: "_Entry") -> None:
        """Take another entry in."""
        if other.first is not None:
            self.first = other.first if self.first is None else min(self.first, other.first)
        self.last = max(self.last, other.last)
        self.instructions += other.instructions
        self.vector_elements += other.vector_elements
        self.hops += other.hops
        self.commands_pj += other.commands_pj
        self.busy.update(other.busy)
        self.runs.update(other.runs)
        self.inside.update(other.inside)
        for name, amount in other.links.items():
            self.links[name] += amount
        self.off_chip.update(other.off_chip)
        self.spaces.update(other.spaces)
        self.stalls.update(other.stalls)


class Ledger:
    """Counts instructions as they are executed."""

    def __init__(
        self,
        program: Program,
        arrays: Arrays,
        crossed: Sequence[Sequence[Crossed]] | None = None,
    ) -> None:
        """Open the accounts of a program.

        Args:
            program: What runs.
            arrays: What its descriptors do on the machine.
            crossed: What each instruction uses of a mesh and of the memory behind it, by queue,
                where transfers cross one; else every child is one hop away, and accesses of
                off-chip memory cost what its level says.
        """
        self._program = program
        self._crossed = crossed
        dram = program.arch.dram
        self._dram = dram if crossed is not None and dram is not None and dram.is_priced else None
        self._arrays = arrays
        self._entries: defaultdict[int, _Entry] = defaultdict(_Entry)
        self._symbols = sorted(program.symbols, key=lambda symbol: symbol.address)
        self._starts = [symbol.address for symbol in self._symbols]
        self._levels = level_of_space(program.arch)
        self.stored: set[str] = set()

    def record(
        self,
        unit: Unit,
        instruction: AnyInstruction,
        touched: Sequence[ByteTouch],
        issue: Issue,
    ) -> None:
        """Count one instruction.

        Args:
            unit: Kind of queue that executes it.
            instruction: The instruction.
            touched: What it reads and writes.
            issue: When it ran.

        Raises:
            SimulationError: It writes a constant.
        """
        entry = self._entries[instruction.op]
        if entry.first is None or issue.start < entry.first:
            entry.first = issue.start
        entry.last = max(entry.last, issue.end)
        entry.instructions += 1
        entry.busy[unit] += issue.busy
        if self._crossed is not None:
            self._cross(entry, self._crossed[issue.queue][issue.position])
        for item in issue.stalls:
            entry.stalls[item.port] += item.cycles
        moved = self._arrays.moved(instruction)
        if moved is not None:
            _spread(entry, moved)
        match instruction:
            case Mac():
                npu = self._program.queues[issue.queue].index
                entry.runs[instruction.nest, npu, instruction.accumulate] += 1
            case Copy():
                operand = self._copied(instruction)
                for touch in touched:
                    self._move(entry, touch, operand)
            case Sync() | Halt():
                pass
            case Fill():
                self._move(entry, touched[0], Operand.O)
            case _:
                entry.vector_elements += math.prod(instruction.shape) * lane_cycles(instruction)
                for touch in touched:
                    self._move(entry, touch, _vector_operand(touch))

    def _cross(self, entry: _Entry, crossed: Crossed) -> None:
        entry.hops += crossed.hops
        if self._dram is None:
            return
        for way, use in crossed.memory.items():
            burst_pj = self._dram.read_pj if way is Way.READ else self._dram.write_pj
            entry.commands_pj += use.rows * self._dram.activate_pj + use.bursts * burst_pj

    def _copied(self, copy: Copy) -> Operand:
        source, target = copy.src.space, copy.dst.space
        if target in (Space.WB, Space.PB) or source in (Space.WB, Space.PB):
            return Operand.W
        if source is Space.DRAM:
            symbol = self._symbol(copy.src.address)
            constant = symbol is not None and symbol.kind is SymbolKind.CONSTANT
            return Operand.W if constant else Operand.I
        leaves = target is Space.DRAM or Space.AB in (source, target)
        return Operand.O if leaves else Operand.I

    def _move(self, entry: _Entry, touch: ByteTouch, operand: Operand) -> None:
        space, amount = touch.access.space, touch.region.bytes
        if space in (Space.WB, Space.AB):
            return  # counted as it is spread
        entry.spaces[space, operand, touch.way] += amount
        if space is not Space.DRAM:
            return
        symbol = self._symbol(touch.access.address + touch.region.low)
        kind = SymbolKind.ACTIVATION if symbol is None else symbol.kind
        entry.off_chip[kind, touch.way] += amount
        if touch.way is Way.WRITE:
            self._write(touch)

    def _write(self, touch: ByteTouch) -> None:
        low = touch.access.address + touch.region.low
        high = touch.access.address + touch.region.high
        first = max(bisect_right(self._starts, low) - 1, 0)
        for symbol in islice(self._symbols, first, None):
            if symbol.address >= high:
                return
            if symbol.address + symbol.type.bytes <= low:
                continue
            if symbol.kind is SymbolKind.CONSTANT:
                raise SimulationError(f"write to the constant {symbol.name}")
            self.stored.add(symbol.name)

    def _symbol(self, address: int) -> Symbol | None:
        """Return the tensor that holds a byte of off-chip memory."""
        found = bisect_right(self._starts, address) - 1
        if found < 0:
            return None
        symbol = self._symbols[found]
        return symbol if address < symbol.address + symbol.type.bytes else None

    def accounts(self) -> tuple[OperatorAccount, ...]:
        """Return one account per operator of the program, in order."""
        names = enumerate(self._program.operators)
        return tuple(self._account(name, self._entries[op]) for op, name in names)

    def overhead(self) -> OperatorAccount:
        """Return the account of instructions that work for no operator."""
        return self._account("", self._entries[-1])

    def total(self) -> OperatorAccount:
        """Return all accounts together."""
        whole = _Entry()
        for entry in self._entries.values():
            whole.add(entry)
        return self._account(self._program.name, whole)

    def _account(self, name: str, entry: _Entry) -> OperatorAccount:
        runs = [
            (self._arrays.run(nest, npu, accumulate=accumulate), n)
            for (nest, npu, accumulate), n in sorted(entry.runs.items())
        ]
        traffic = self._traffic(entry, runs)
        return OperatorAccount(
            name=name,
            first_cycle=entry.first or 0,
            last_cycle=entry.last,
            instructions=entry.instructions,
            macs=sum(run.useful_macs * n for run, n in runs),
            busy=tuple(UnitBusy(unit, entry.busy[unit]) for unit in Unit if entry.busy[unit]),
            off_chip=_off_chip(entry),
            traffic=traffic,
            energy=energy_of(
                self._program.arch,
                traffic,
                compute_pj=sum(run.macs * n for run, n in runs) * self._program.arch.mac_energy,
                network_pj=self._network_pj(entry, runs),
                vector_elements=entry.vector_elements,
                off_chip_pj=None if self._dram is None else entry.commands_pj,
            ),
            stalls=tuple(PortStall(port, n) for port, n in sorted(entry.stalls.items())),
        )

    def _traffic(
        self, entry: _Entry, runs: Sequence[tuple[ArrayRun, int]]
    ) -> tuple[LevelTraffic, ...]:
        bits: Counter[tuple[str, Operand, Way]] = Counter()
        for (space, operand, way), amount in entry.spaces.items():
            level = self._levels.get(space)
            if level is not None:
                bits[level, operand, way] += 8 * amount
        for (level, operand, way), amount in entry.inside.items():
            bits[level, operand, way] += 8 * amount
        for run, number in runs:
            for count in run.counts:
                if count.side in (Side.READ, Side.WRITE):
                    bits[count.place, count.operand, Way(count.side.value)] += number * count.bits
        return tuple(
            LevelTraffic(
                level,
                operand,
                -(-bits[level, operand, Way.READ] // 8),
                -(-bits[level, operand, Way.WRITE] // 8),
            )
            for level in self._program.arch.level_names
            for operand in OPERANDS
            if bits[level, operand, Way.READ] or bits[level, operand, Way.WRITE]
        )

    def _network_pj(self, entry: _Entry, runs: Sequence[tuple[ArrayRun, int]]) -> float:
        """Return the energy of all bytes over links [pJ].

        One hop for each child that they reach; over the mesh the hops of each flit.
        """
        crossing = defaultdict[str, Fraction](Fraction, entry.links)
        for run, number in runs:
            for count in run.counts:
                if count.side in (Side.DOWN, Side.UP):
                    crossing[count.place] += Fraction(number * count.bits, 8)
        network = self._program.arch.network
        if self._crossed is not None and network is not None:
            crossing[network.fanout] = Fraction(entry.hops * network.flit_bits, 8)
        return sum(
            float(amount) * self._program.arch.fanout(name).hop_energy
            for name, amount in sorted(crossing.items())
        )


def _spread(entry: _Entry, moved: Moved) -> None:
    """Count a tile in the instances of its memory and on the links above."""
    spread = moved.spread
    way = Way.WRITE if moved.inwards else Way.READ
    entry.inside[spread.level, spread.operand, way] += spread.part * spread.taking
    for link in spread.links:
        entry.links[link.fanout] += link.total


def _vector_operand(touch: ByteTouch) -> Operand:
    if touch.way is Way.WRITE or touch.access.space is Space.AB:
        return Operand.O
    return Operand.W if touch.access.space in (Space.WB, Space.PB) else Operand.I


def _off_chip(entry: _Entry) -> tuple[OffChipTraffic, ...]:
    moved = entry.off_chip
    return tuple(
        OffChipTraffic(kind, moved[kind, Way.READ], moved[kind, Way.WRITE])
        for kind in SymbolKind
        if moved[kind, Way.READ] or moved[kind, Way.WRITE]
    )


def energy_of(
    arch: Architecture,
    traffic: Sequence[LevelTraffic],
    *,
    compute_pj: float,
    network_pj: float,
    vector_elements: int,
    off_chip_pj: float | None = None,
) -> Energy:
    """Return the energy of an account.

    Args:
        arch: The machine.
        traffic: Bytes per level and operand; a word costs its level's energy, parts of a word
            their share.
        compute_pj: Of the MACs [pJ].
        network_pj: Of the on-chip network [pJ].
        vector_elements: Lane cycles of the vector units.
        off_chip_pj: Of the off-chip memory's commands [pJ]; its level's energies count if absent.
    """
    by_level = dict.fromkeys(arch.level_names, 0.0)
    for item in traffic:
        level = arch.level(item.level)
        words_per_byte = 8 / level.word_bits
        spent = item.read * level.read_energy + item.written * level.write_energy
        by_level[item.level] += spent * words_per_byte
    if off_chip_pj is not None:
        by_level[arch.off_chip.name] = off_chip_pj
    return Energy(
        levels=tuple(LevelEnergy(level, pj) for level, pj in by_level.items()),
        compute=compute_pj,
        network=network_pj,
        vector=vector_elements * arch.vector.energy,
    )
