"""Faults of values and checks in ``ir``, and of lowering in ``backend``."""

from tests.end_to_end.faults.fault import Exam, Fault

_MACHINE = (
    Fault(
        "a scratchpad 64 times as large",
        "ir/isa/spaces.py",
        "space: arch.whole_capacity(level)",
        "space: arch.whole_capacity(level) * 64",
        Exam.FORGED_PROGRAMS,
    ),
    Fault(
        "weight buffers counted once",
        "ir/isa/spaces.py",
        "space: arch.whole_capacity(level)",
        "space: (arch.level(level).capacity or 0)",
        Exam.FORGED_PROGRAMS,
    ),
    Fault(
        "weight buffers of twice the size",
        "ir/isa/spaces.py",
        "space: arch.whole_capacity(level)",
        "space: arch.whole_capacity(level) * (1 + (space is Space.WB))",
        Exam.FORGED_PROGRAMS,
    ),
    Fault(
        "copies on chip start at once",
        "ir/isa/latency.py",
        "ON_CHIP_STARTUP = 4",
        "ON_CHIP_STARTUP = 0",
        Exam.EVENTS,
    ),
)

_HAZARDS = (
    Fault(
        "a write does not wait for readers",
        "ir/tiles/hazards.py",
        "merge(found, self.readers)",
        "merge(found, {})",
        Exam.HAZARDS,
    ),
    Fault(
        "a read does not wait for writers",
        "ir/tiles/hazards.py",
        "return self.writers or self.inherited",
        "return self.inherited",
        Exam.RUN,
    ),
    Fault(
        "a new tile does not wait for readers of the old",
        "ir/tiles/hazards.py",
        "for ticks in (old.inherited, old.readers, old.writers):",
        "for ticks in (old.inherited, old.writers):",
        Exam.RUN,
    ),
    Fault(
        "an event waits for the first one of a queue",
        "ir/tiles/hazards.py",
        "if tick > into.get(queue, 0):",
        "if queue not in into:",
        Exam.RUN,
    ),
    Fault(
        "a read of a tensor does not wait for writers",
        "ir/tiles/hazards.py",
        "return self._wrote(cells) or self.inherited",
        "return self.inherited",
        Exam.JOINT,
    ),
    Fault(
        "a write does not wait for what lay there",
        "ir/tiles/hazards.py",
        "found = dict(self.inherited)",
        "found: Ticks = {}",
        Exam.HAZARDS,
    ),
    Fault(
        "the first cell of a tile stands for all",
        "ir/tiles/cells.py",
        "tuple(np.flatnonzero(is_met).tolist())",
        "tuple(np.flatnonzero(is_met).tolist()[:1])",
        Exam.JOINT,
    ),
)

_VERIFIERS = (
    Fault(
        "engines may do two things in one cycle",
        "ir/tiles/occupancy.py",
        "if event.begin < before.done:",
        "if event.done < before.done:",
        Exam.FORGED_SCHEDULES,
    ),
    Fault(
        "tiles that overlap by a byte do not",
        "ir/tiles/occupancy.py",
        "shares = span.low < other.high and other.low < span.high",
        "shares = span.low < other.high - 1 and other.low < span.high",
        Exam.FORGED_SCHEDULES,
    ),
    Fault(
        "a result may be written over what others still read",
        "ir/tiles/occupancy.py",
        "if (ended > schedule.events[number].start).any():",
        "if (ended > schedule.events[number].end).any():",
        Exam.FORGED_SCHEDULES,
    ),
    Fault(
        "elements of another size may be written over",
        "ir/tiles/occupancy.py",
        "if not (old.windows and new.windows and is_alike):",
        "if not (old.windows and new.windows):",
        Exam.FORGED_SCHEDULES,
    ),
    Fault(
        "tiles that touch overlap",
        "ir/tiles/occupancy.py",
        "active = [other for other in active if other.end > span.start]",
        "active = [other for other in active if other.end >= span.start]",
        Exam.RUN,
    ),
    Fault(
        "a tile may be read in the last cycle of its load",
        "ir/tiles/replay.py",
        "if self.ready.get(item, event.start + 1) > event.start:",
        "if self.ready.get(item, event.start + 1) > event.start + 1:",
        Exam.FORGED_SCHEDULES,
    ),
    Fault(
        "sums are finished while products are added",
        "ir/tiles/replay.py",
        "if self.sums.ready(item) > event.start:",
        "if self.sums.ready(item) > event.end:",
        Exam.FORGED_SCHEDULES,
    ),
    Fault(
        "cleared sums count as clear",
        "ir/tiles/sums.py",
        "if event.clear and cleared[where].any():",
        "if event.clear and not cleared[where].any():",
        Exam.FORGED_SCHEDULES,
    ),
    Fault(
        "sums are there where one of them is",
        "ir/tiles/sums.py",
        "return int(self._on_chip[place].max()) if place in self._on_chip else NEVER",
        "return int(self._on_chip[place].min()) if place in self._on_chip else NEVER",
        Exam.FORGED_SCHEDULES,
    ),
    Fault(
        "sums come back while they leave",
        "ir/tiles/sums.py",
        "if spilled is None or int(spilled.min()) > start:",
        "if spilled is None:",
        Exam.FORGED_SCHEDULES,
    ),
    Fault(
        "spaces larger than the machine's pass",
        "ir/isa/program_checks.py",
        "if space is not Space.DRAM and sizes.get(space, 0) != expected.get(space, 0):",
        "if space is not Space.DRAM and sizes.get(space, 0) < expected.get(space, 0):",
        Exam.FORGED_PROGRAMS,
    ),
    Fault(
        "extents of an instruction need not be the descriptor's",
        "ir/isa/program_checks.py",
        "if tuple(work.dims.values()) != mac.extents:",
        "if len(work.dims) != len(mac.extents):",
        Exam.FORGED_PROGRAMS,
    ),
)

_LOWERING = (
    Fault(
        "operands of a sum change places",
        "backend/lowering/select_vector.py",
        "scales=(quants[0][0], quants[1][0], quants[2][0]),",
        "scales=(quants[1][0], quants[0][0], quants[2][0]),",
        Exam.VALUES,
    ),
    Fault(
        "sums are averaged as if they were elements",
        "backend/lowering/select_vector.py",
        'count=op.int("count", 1),',
        "count=1,",
        Exam.VALUES,
    ),
    Fault(
        "bounds of an average are left out",
        "backend/lowering/select_vector.py",
        "low, high = (0, 0) if made.quant is None else clamp_of(op, made)",
        "low, high = made.dtype.range",
        Exam.VALUES,
    ),
    Fault(
        "a reused address of a tensor off chip",
        "backend/lowering/layout.py",
        "self.end = address + type.bytes",
        "self.end = address + type.bytes - 1",
        Exam.RUN,
    ),
    Fault(
        "the multiplier's operations in another order",
        "backend/lowering/layout.py",
        "factor = np.float32(x.scale[0]) * weights / np.float32(y.scale[0])",
        "factor = np.float32(x.scale[0]) * (weights / np.float32(y.scale[0]))",
        Exam.BIASES,
    ),
    Fault(
        "zero point of weights dropped",
        "backend/lowering/select_mac.py",
        "w_zero=_weight_zero(site, w_type),",
        "w_zero=0,",
        Exam.VALUES,
    ),
    Fault(
        "zero point of outputs dropped",
        "backend/lowering/select_mac.py",
        "zero_point=result.quant.zero_point[0],",
        "zero_point=0,",
        Exam.VALUES,
    ),
    Fault(
        "sums that pass on are always added first",
        "backend/lowering/select_mac.py",
        "is_second=read.operand == 0,",
        "is_second=False,",
        Exam.FUSED,
    ),
    Fault(
        "a tensor is added as if it were dense",
        "backend/lowering/select_mac.py",
        "strides=axes.split(read.strides(other.strides))",
        "strides=requant.dst.strides",
        Exam.FUSED,
    ),
    Fault(
        "padding of a tile from its own first row",
        "backend/lowering/select_mac.py",
        "top=(rows.start - first[0]) // rows.step,",
        "top=0,",
        Exam.VALUES,
    ),
    Fault(
        "channels of parameters taken as groups",
        "backend/lowering/select_mac.py",
        "(0, group, channel, 0, 0)",
        "(0, channel, group, 0, 0)",
        Exam.RUN,
    ),
    Fault(
        "an instruction adds where it should clear",
        "backend/lowering/select_mac.py",
        "accumulate=not clear,",
        "accumulate=True,",
        Exam.RUN,
    ),
    Fault(
        "a wait for one too few",
        "backend/lowering/streams.py",
        "waits = tuple(Wait(other, tick) for other, tick in sorted(needed.items()))",
        "waits = tuple(Wait(other, tick - 1) for other, tick in sorted(needed.items()) "
        "if tick > 1)",
        Exam.RUN,
    ),
    Fault(
        "waits that only seem to follow are dropped",
        "backend/lowering/streams.py",
        "if not any(clock[other] >= tick for source, clock in clocks.items() if source != other)",
        "if not any(clock[other] >= tick - 1 for source, clock in clocks.items() if "
        "source != other)",
        Exam.RUN,
    ),
    Fault(
        "a queue forgets what it has waited for",
        "backend/lowering/streams.py",
        "clock[queue] = len(history)",
        "clock[queue] = len(history) + 1",
        Exam.RUN,
    ),
    Fault(
        "the first engine of a kind does everything",
        "backend/lowering/lower.py",
        "queue = self.streams.queue(event.unit, event.index)",
        "queue = self.streams.queue(event.unit, 0)",
        Exam.EVENTS,
    ),
    Fault(
        "off-chip addresses count elements, not bytes",
        "backend/lowering/addressing.py",
        "axis.start * stride * size for axis, stride in zip(tile.box, tile.view, strict=True)",
        "axis.start * stride for axis, stride in zip(tile.box, tile.view, strict=True)",
        Exam.RUN,
    ),
    Fault(
        "loops with a gap between them are joined",
        "backend/lowering/addressing.py",
        "outer == extent * inner for outer, inner in zip(loops[-1][1], strides, strict=True)",
        "outer >= extent * inner for outer, inner in zip(loops[-1][1], strides, strict=True)",
        Exam.VALUES,
    ),
    Fault(
        "a finish is not told that its parameters are read",
        "ir/tiles/touches.py",
        "self._tiles((*op.reads, *before), number)",
        "self._tiles((*op.reads[:1], *before), number)",
        Exam.RUN,
    ),
)

_TRANSLATION = (
    Fault(
        "spilled sums of all tiles lie in one place",
        "backend/lowering/streams.py",
        'name = f"{item.tensor}.psum{tile}"',
        'name = f"{item.tensor}.psum"',
        Exam.TRANSLATED,
    ),
    Fault(
        "a MAC instruction runs the loops of another one",
        "backend/lowering/select_mac.py",
        "nest=numbers(site.step.nests[site.npu]),",
        "nest=max(0, numbers(site.step.nests[site.npu]) - 1),",
        Exam.TRANSLATED,
    ),
    Fault(
        "a copy into buffers of weights has no layout",
        "backend/lowering/event.py",
        "layout=self._nest(item.layout),",
        "layout=self._nest(None),",
        Exam.TRANSLATED,
    ),
    Fault(
        "a whole tensor that is observed fills the tensor itself",
        "backend/lowering/layout.py",
        'return f"{tensor}.observed"',
        "return tensor",
        Exam.TRANSLATED,
    ),
    Fault(
        "instructions that no event asked for pass",
        "compiler/verification/translation.py",
        "if not isinstance(queue.instructions[done[number]], Halt):",
        "if done[number] >= len(queue.instructions):",
        Exam.FORGED_PROGRAMS,
    ),
    Fault(
        "rows of MAC instructions pass if one of them is right",
        "compiler/verification/translation.py",
        "return all((line in there) == (0 <= line < extent) for line in met)",
        "return any((line in there) == (0 <= line < extent) for line in met)",
        Exam.FORGED_PROGRAMS,
    ),
    Fault(
        "transfers pass whatever they move",
        "compiler/verification/translation.py",
        '_equal("moves", found, _pairs(tile.shape, tile.strides, far, size))',
        "pass",
        Exam.FORGED_PROGRAMS,
    ),
    Fault(
        "operands that are not read pass",
        "compiler/verification/translation.py",
        "(left := set(op.reads) - met)",
        "(left := set[int]())",
        Exam.FORGED_PROGRAMS,
    ),
)

_WINDOWS = (
    Fault(
        "the last row of a window is not waited for",
        "passes/scheduling/network/windows.py",
        "tuple(Range(one.start, one.stop, own.step) for one, own in axes)",
        "tuple(Range(one.start, max(one.start + 1, one.stop - 1), own.step) for one, own in axes)",
        Exam.RUN,
    ),
    Fault(
        "windows lie where their tensor does",
        "passes/scheduling/network/windows.py",
        "shift = region_of(part).offset - region_of(tile).offset",
        "shift = 0",
        Exam.RUN,
    ),
)

BACKEND = (*_WINDOWS, *_MACHINE, *_HAZARDS, *_VERIFIERS, *_LOWERING, *_TRANSLATION)
