"""Faults of the simulator, which judges the rest."""

from tests.end_to_end.faults.fault import Exam, Fault

_ARRAY = (
    Fault(
        "links ignored where weights come in",
        "runtime_sim/demands.py",
        "loads += [(link.fanout, across, link.busiest) for link in moved.spread.links]",
        "loads += []",
        Exam.EVENTS,
    ),
    Fault(
        "multicast counted as unicast",
        "runtime_sim/array/nest.py",
        "return self.telling if self.shared else self.children",
        "return self.children",
        Exam.ARRAY,
    ),
    Fault(
        "sums of neighbours are not added on their way",
        "runtime_sim/array/counts.py",
        "return math.prod(hop.telling for hop in hops)",
        "return math.prod(hop.children for hop in hops)",
        Exam.ARRAY,
    ),
    Fault(
        "old sums never return",
        "runtime_sim/array/counts.py",
        "first = turns if accumulate else turns - different",
        "first = turns - different",
        Exam.ARRAY,
    ),
    Fault(
        "memories that forget their sums are forgotten",
        "runtime_sim/array/counts.py",
        "total += homes * forgetful * below * _telling(last.hops) * (turns - anew)",
        "total += homes * below * _telling(last.hops) * (turns - anew)",
        Exam.ARRAY,
    ),
    Fault(
        "loops of one step change a tile",
        "runtime_sim/array/counts.py",
        "inner.extent > 1 and inner.dim in RELEVANT[operand]",
        "inner.dim in RELEVANT[operand]",
        Exam.ARRAY,
    ),
    Fault(
        "sums as wide as results",
        "runtime_sim/array/nest.py",
        "return max(self.arch.accumulator_bits, self.workload.output_bits)",
        "return min(self.arch.accumulator_bits, self.workload.output_bits, 8)",
        Exam.ARRAY,
    ),
    Fault(
        "dilation takes no rows",
        "runtime_sim/array/nest.py",
        "return len({p * stride + r * dilation for p in range(outputs) for r in range(taps)})",
        "return len({p * stride + r for p in range(outputs) for r in range(taps)})",
        Exam.ARRAY,
    ),
    Fault(
        "a memory sends weights before inputs",
        "runtime_sim/array/times.py",
        "_ORDER = (Operand.I, Operand.W, Operand.O)",
        "_ORDER = (Operand.W, Operand.I, Operand.O)",
        Exam.NESTS,
    ),
    Fault(
        "the way out of the outermost memory takes no time",
        "runtime_sim/array/times.py",
        "legs: Sequence[Leg] = nest.legs(Operand.O)[:-1]",
        "legs: Sequence[Leg] = nest.legs(Operand.O)[1:-1]",
        Exam.ARRAY,
    ),
    Fault(
        "a shared port writes at the write bandwidth",
        "runtime_sim/array/times.py",
        "return level.read_bandwidth if level.shared_port else level.write_bandwidth",
        "return level.write_bandwidth",
        Exam.ARRAY,
    ),
    Fault(
        "part of an instance in elements",
        "runtime_sim/array/spread.py",
        "part = nest.held(item.operand, item.level, 0) * element_bytes",
        "part = nest.held(item.operand, item.level, 0)",
        Exam.ACCOUNTS,
    ),
    Fault(
        "a tile takes one instance",
        "runtime_sim/array/spread.py",
        "return self.part * self.instances",
        "return self.part",
        Exam.LAYOUTS,
    ),
    Fault(
        "whole of a memory whose halves alternate",
        "runtime_sim/array/run.py",
        "if level.usable is not None and taken > level.usable:",
        "if level.capacity is not None and taken > level.capacity:",
        Exam.FORGED_PROGRAMS,
    ),
    Fault(
        "capacity of one byte more",
        "runtime_sim/array/tiles.py",
        "if tile.end > size:",
        "if tile.end > size + spread.instances:",
        Exam.FORGED_PROGRAMS,
    ),
    Fault(
        "a displaced tile is still there",
        "runtime_sim/array/tiles.py",
        "held[:] = [other for other in held if other.end <= address or tile.end <= other.address]",
        "held[:] = [other for other in held if other.address != address]",
        Exam.FORGED_PROGRAMS,
    ),
)

_TIME = (
    Fault(
        "a MAC instruction that retires before it has drained",
        "runtime_sim/timing.py",
        "end = line.ends[position] = max(time + line.work[position].drain, before)",
        "end = line.ends[position] = max(time, before)",
        Exam.TIMING,
    ),
    Fault(
        "instructions retire out of order",
        "runtime_sim/timing.py",
        "before = line.ends[position - 1] if position else 0",
        "before = 0",
        Exam.TIMING,
    ),
    Fault(
        "fill does not hide behind the one before",
        "runtime_sim/timing.py",
        "begun = self.computed + self.is_computing if self.pipelined else self.retired",
        "begun = self.computed if self.pipelined else self.retired",
        Exam.TIMING,
    ),
    Fault(
        "an instruction that waits begins one retirement early",
        "runtime_sim/timing.py",
        "met = [other for count, other in watchers if count <= line.retired]",
        "met = [other for count, other in watchers if count <= line.retired + 1]",
        Exam.TIMING,
    ),
    Fault(
        "start-up missing",
        "runtime_sim/timing.py",
        "heappush(self._heap, (time + work.fill + work.lead, line.ready_kind, line.number))",
        "heappush(self._heap, (time + work.fill, line.ready_kind, line.number))",
        Exam.TIMING,
    ),
    Fault(
        "start-up of copies on chip is that of DMA",
        "runtime_sim/demands.py",
        "lead = self._arch.dma.startup if off_chip else _ON_CHIP_STARTUP",
        "lead = self._arch.dma.startup",
        Exam.EVENTS,
    ),
    Fault(
        "a stall attributed to nothing",
        "runtime_sim/contention.py",
        "by_port[worst] += late - sum(by_port.values())",
        "by_port[worst] += 0",
        Exam.TIMING,
    ),
    Fault(
        "whoever shares a port takes all of it",
        "runtime_sim/sharing.py",
        "room[port] -= share * level >> _BITS",
        "room[port] -= share",
        Exam.TIMING,
    ),
    Fault(
        "ports of the scratchpad twice as wide",
        "runtime_sim/ports.py",
        "*_sides(pad, scratchpad_owners(arch), pad.ports or 1),",
        "*_sides(pad, scratchpad_owners(arch), pad.ports or 2),",
        Exam.EVENTS,
    ),
    Fault(
        "slow functions in two cycles",
        "runtime_sim/vector_cost.py",
        "_SLOW_CYCLES = 4",
        "_SLOW_CYCLES = 2",
        Exam.EVENTS,
    ),
    Fault(
        "a pool looks at one tap",
        "runtime_sim/vector_cost.py",
        "return math.prod(kernel)",
        "return 1",
        Exam.EVENTS,
    ),
)

_ACCOUNTS = (
    Fault(
        "energy of another level",
        "runtime_sim/energy.py",
        "level = arch.level(item.level)",
        "level = arch.level(arch.scratchpad)",
        Exam.ACCOUNTS,
    ),
    Fault(
        "energy a hundredfold",
        "runtime_sim/energy.py",
        "words_per_byte = 8 / level.word_bits",
        "words_per_byte = 800 / level.word_bits",
        Exam.ACCOUNTS,
    ),
    Fault(
        "energy per byte instead of per word",
        "runtime_sim/energy.py",
        "words_per_byte = 8 / level.word_bits",
        "words_per_byte = 1",
        Exam.ACCOUNTS,
    ),
    Fault(
        "reads and writes of tiles in the array swapped",
        "runtime_sim/ledger.py",
        "way = Way.WRITE if moved.inwards else Way.READ",
        "way = Way.READ if moved.inwards else Way.WRITE",
        Exam.ACCOUNTS,
    ),
    Fault(
        "padded MACs are free",
        "runtime_sim/ledger.py",
        "compute_pj=sum(run.macs * n for run, n in runs) * self._program.arch.mac_energy",
        "compute_pj=sum(run.useful_macs * n for run, n in runs) * self._program.arch.mac_energy",
        Exam.ACCOUNTS,
    ),
    Fault(
        "hops on the way up are free",
        "runtime_sim/ledger.py",
        "if count.side in (Side.DOWN, Side.UP):",
        "if count.side in (Side.DOWN,):",
        Exam.ACCOUNTS,
    ),
    Fault(
        "a copy of weights crosses one link",
        "runtime_sim/ledger.py",
        "entry.links[link.fanout] += link.total",
        "entry.links[link.fanout] += link.busiest",
        Exam.ACCOUNTS,
    ),
    Fault(
        "elements of the vector unit instead of their cycles",
        "runtime_sim/ledger.py",
        "entry.vector_elements += math.prod(instruction.shape) * lane_cycles(instruction)",
        "entry.vector_elements += math.prod(instruction.shape)",
        Exam.ACCOUNTS,
    ),
)

_CHECKS = (
    Fault(
        "reads are no part of a race",
        "runtime_sim/races.py",
        "self._compare(shadow.reads, Way.READ, touch, queue, known)",
        "self._compare({}, Way.READ, touch, queue, known)",
        Exam.FORGED_RACES,
    ),
    Fault(
        "clocks of waits are not joined",
        "runtime_sim/races.py",
        "np.maximum(clock, self._clocks[wait.queue][wait.count - 1], out=clock)",
        "clock[wait.queue] = max(clock[wait.queue], wait.count)",
        Exam.RUN,
    ),
    Fault(
        "a race with the last instruction of a queue is none",
        "runtime_sim/races.py",
        "if other == queue or history.latest <= known[other]:",
        "if other == queue or history.latest <= known[other] + 1:",
        Exam.FORGED_RACES,
    ),
    Fault(
        "weights count as written",
        "runtime_sim/written.py",
        "key: np.zeros(memory.bytes.size, np.uint8) for key, memory in memories.items()",
        "key: np.full(memory.bytes.size, key[0] is Space.WB, np.uint8) for key, memory "
        "in memories.items()",
        Exam.FORGED_PROGRAMS,
    ),
    Fault(
        "a region that was right once is right everywhere",
        "runtime_sim/written.py",
        "key = (access.space, access.npu, access.address, id(touch.region))",
        "key = (access.space, access.npu, 0, id(touch.region))",
        Exam.FORGED_PROGRAMS,
    ),
    Fault(
        "results are visible when an instruction begins",
        "runtime_sim/pending.py",
        "_write(hidden)",
        "_write(before)",
        Exam.FORGED_PROGRAMS,
    ),
)

_VALUES = (
    Fault(
        "the accumulate flag ignored",
        "runtime_sim/mac.py",
        "total = _add(port.load_accumulators(instruction.acc, shape, size), total, bound)",
        "total = _add(np.zeros(shape, S32), total, bound)",
        Exam.MULTIPLES,
    ),
    Fault(
        "zero point of inputs counted for rows that are not there",
        "runtime_sim/mac.py",
        "instruction.x_zero,",
        "0,",
        Exam.MULTIPLES,
    ),
    Fault(
        "windows step by one",
        "runtime_sim/windows.py",
        "window.stride[0] * row,",
        "row,",
        Exam.MULTIPLES,
    ),
)

_NUMERICS = (
    Fault(
        "the multiplier of operators and of their oracle in another order",
        "runtime_sim/numerics.py",
        "product = np.float32(input_scale) * np.asarray(weight_scale, np.float32)",
        "product = np.float32(input_scale) * np.asarray(weight_scale, np.float64)",
        Exam.BIASES,
    ),
    Fault(
        "halves are rounded up",
        "runtime_sim/numerics.py",
        "bounded = np.clip(np.rint(values), np.float32(lo - zero_point), np.float32(hi - "
        "zero_point))",
        "bounded = np.clip(np.floor(values + 0.5), np.float32(lo - zero_point), "
        "np.float32(hi - zero_point))",
        Exam.ONNXRUNTIME,
    ),
    Fault(
        "the zero points of a sum are no fused product",
        "runtime_sim/numerics.py",
        "offset = np.float32(y[1]) - fma(ratio_a, a[1], ratio_b * np.float32(b[1]))",
        "offset = np.float32(y[1]) - ratio_a * np.float32(a[1]) - ratio_b * np.float32(b[1])",
        Exam.ONNXRUNTIME,
    ),
    Fault(
        "the sum of two scales is no fused one",
        "runtime_sim/numerics.py",
        "total = fma(values[:, None], ratio_a, inner[None, :])",
        "total = values[:, None] * ratio_a + inner[None, :]",
        Exam.ONNXRUNTIME,
    ),
    Fault(
        "a product rounds before it adds the zero point",
        "runtime_sim/numerics.py",
        "total = product.astype(np.float32) * factor + np.float32(y[1])",
        "total = np.rint(product.astype(np.float32) * factor) + np.float32(y[1])",
        Exam.ONNXRUNTIME,
    ),
    Fault(
        "padding takes part in a maximum",
        "runtime_sim/reference/pools.py",
        'least = -np.inf if x.dtype.kind == "f" else byte_range(x.dtype)[0]',
        "least = 0",
        Exam.ONNXRUNTIME,
    ),
    Fault(
        "padding of a maximum is zero",
        "runtime_sim/pooling.py",
        "return instruction.dtype.range[0] if integer else -np.inf",
        "return 0 if integer else 0.0",
        Exam.VALUES,
    ),
    Fault(
        "sums of 24 bits wrap",
        "runtime_sim/mac.py",
        "if size == 3 and (instruction.accumulate or bound >= 1 << 23):",
        "if size == 3 and bound >= 1 << 23:",
        Exam.MULTIPLES,
    ),
    Fault(
        "float32 where its sums are no longer exact",
        "runtime_sim/mac.py",
        "kind = F32 if bound < F32_EXACT else _F64",
        "kind = F32",
        Exam.MULTIPLES,
    ),
    Fault(
        "rows beyond the tile are read",
        "runtime_sim/region.py",
        "[line for p in range(outputs) if 0 <= (line := p * step + r * dilation - before) < size]",
        "[line for p in range(outputs) if 0 <= (line := p * step + r * dilation - before) <= size]",
        Exam.RUN,
    ),
    Fault(
        "bytes that repeat count every time",
        "runtime_sim/region.py",
        "moving = sorted(((abs(stride), n) for n, stride in loops if n > 1 and stride), "
        "reverse=True)",
        "moving = sorted(((abs(stride), n) for n, stride in loops if n > 1), reverse=True)",
        Exam.ACCOUNTS,
    ),
)

SIMULATOR = (*_NUMERICS, *_ARRAY, *_TIME, *_ACCOUNTS, *_CHECKS, *_VALUES)
