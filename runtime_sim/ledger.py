"""Accounts per operator: who was busy, what was moved, what it cost.

Off-chip memory, scratchpad and the memories that copies and vector instructions touch are counted
from the instructions themselves, byte by byte; what a ``Mac`` moves on chip stands in its profile
and is not counted a second time.
"""

import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

from ..ir.arch import Architecture
from ..ir.errors import SimulationError
from ..ir.isa import AnyInstruction, Copy, Fill, Halt, Mac, Space, Sync, Unit
from ..ir.program import LevelTraffic, Program, Symbol, SymbolKind
from ..ir.workload import OPERANDS, Operand
from .accesses import Touch, Way
from .energy import energy_of
from .result import OffChipTraffic, OperatorAccount, PortStall, UnitBusy
from .timing import Issue
from .vector_cost import lane_cycles


@dataclass(slots=True)
class _Entry:
    """Sums of one operator while the program runs."""

    first: int | None = None
    last: int = 0
    instructions: int = 0
    vector_elements: int = 0
    busy: Counter[Unit] = field(default_factory=Counter[Unit])
    profiles: Counter[int] = field(default_factory=Counter[int])
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
        self.busy.update(other.busy)
        self.profiles.update(other.profiles)
        self.off_chip.update(other.off_chip)
        self.spaces.update(other.spaces)
        self.stalls.update(other.stalls)


class Ledger:
    """Counts instructions as they are executed."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._entries: defaultdict[int, _Entry] = defaultdict(_Entry)
        self._symbols = sorted(program.symbols, key=lambda symbol: symbol.address)
        self._starts = [symbol.address for symbol in self._symbols]
        self._levels = level_of_space(program.arch)
        self.stored: set[str] = set()

    def record(
        self,
        unit: Unit,
        instruction: AnyInstruction,
        touched: Sequence[Touch],
        issue: Issue,
    ) -> None:
        """Count one instruction.

        Raises:
            SimulationError: It writes a constant.
        """
        entry = self._entries[instruction.op]
        if entry.first is None or issue.start < entry.first:
            entry.first = issue.start
        entry.last = max(entry.last, issue.end)
        entry.instructions += 1
        entry.busy[unit] += issue.busy
        for item in issue.stalls:
            entry.stalls[item.port] += item.cycles
        match instruction:
            case Mac():
                entry.profiles[instruction.profile] += 1
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

    def _move(self, entry: _Entry, touch: Touch, operand: Operand) -> None:
        space, amount = touch.access.space, touch.region.bytes
        entry.spaces[space, operand, touch.way] += amount
        if space is not Space.DRAM:
            return
        symbol = self._symbol(touch.access.address + touch.region.low)
        kind = SymbolKind.ACTIVATION if symbol is None else symbol.kind
        entry.off_chip[kind, touch.way] += amount
        if touch.way is Way.WRITE:
            self._write(touch)

    def _write(self, touch: Touch) -> None:
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
        profiles = [(self._program.profiles[i], n) for i, n in sorted(entry.profiles.items())]
        traffic = self._traffic(entry)
        return OperatorAccount(
            name=name,
            first_cycle=entry.first or 0,
            last_cycle=entry.last,
            instructions=entry.instructions,
            macs=sum(profile.macs * n for profile, n in profiles),
            busy=tuple(UnitBusy(unit, entry.busy[unit]) for unit in Unit if entry.busy[unit]),
            off_chip=_off_chip(entry),
            traffic=traffic,
            energy=energy_of(
                self._program.arch,
                traffic,
                compute_pj=sum(profile.compute_pj * n for profile, n in profiles),
                network_pj=sum(profile.network_pj * n for profile, n in profiles),
                vector_elements=entry.vector_elements,
            ),
            stalls=tuple(PortStall(port, n) for port, n in sorted(entry.stalls.items())),
        )

    def _traffic(self, entry: _Entry) -> tuple[LevelTraffic, ...]:
        sums: defaultdict[tuple[str, Operand], list[int]] = defaultdict(lambda: [0, 0])
        for (space, operand, way), amount in entry.spaces.items():
            level = self._levels.get(space)
            if level is not None:
                sums[level, operand][way is Way.WRITE] += amount
        for index, number in entry.profiles.items():
            for item in self._program.profiles[index].traffic:
                moved = sums[item.level, item.operand]
                moved[0] += item.read * number
                moved[1] += item.written * number
        return tuple(
            LevelTraffic(level, operand, *sums[level, operand])
            for level in self._program.arch.level_names
            for operand in OPERANDS
            if (level, operand) in sums
        )


def level_of_space(arch: Architecture) -> dict[Space, str]:
    """Return the memory level behind each address space.

    ``wb`` is the outermost level below the scratchpad that holds weights, ``ab`` that for
    outputs; ``pb`` is no level of the model, and its traffic is not counted.
    """
    levels = {Space.DRAM: arch.off_chip.name, Space.GB: arch.scratchpad}
    inner = arch.levels[arch.index(arch.scratchpad) + 1 :]
    for space, operand in ((Space.WB, Operand.W), (Space.AB, Operand.O)):
        holders = [level.name for level in inner if operand in level.holds]
        if holders:
            levels[space] = holders[0]
    return levels


def _vector_operand(touch: Touch) -> Operand:
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
