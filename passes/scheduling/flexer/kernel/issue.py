"""Run a set: memory operations, stores that waited, then the operations."""

# The compiler infers scalars; the stubs of NumPy take some of them for arrays.
# pyright: reportArgumentType=false, reportReturnType=false, reportUnknownArgumentType=false

from .....ir.compiled import inner
from .arrays import (
    AT,
    BY,
    COMPUTE,
    EVENTS,
    FINISH,
    GROUPS,
    ISSUED,
    KEPT_FIRST,
    KEPT_LAST,
    KEPT_NEXT,
    KEPT_READY,
    KEPT_TOUCHED,
    LEFT,
    LOAD,
    NEVER,
    NEXT,
    PENDING,
    READY,
    SEEN,
    WORK_LEFT,
    ScheduleArrays,
    TilingArrays,
)
from .arrive import make_space
from .leaving import free, store
from .scratchpad import tidy
from .start import least_work
from .timing import leave_chip, move, note, touch


@inner
def _parameters(p: TilingArrays, s: ScheduleArrays, key: int) -> int:
    """Make sure that the parameters of an output tile are there; return their slot."""
    tensors = p.param_bytes.shape[1]
    for slot in range(p.slots):
        if s.kept[slot] == key:
            return slot
    slot = s.scalar[KEPT_NEXT]
    s.scalar[KEPT_NEXT] = (slot + 1) % p.slots
    for k in range(tensors):
        item = s.kept_item[slot, k]
        if s.kept[slot] >= 0:
            old = s.kept[slot] * tensors + k
            leave_chip(s, -1 - old, 0, slot * tensors + k, item[KEPT_FIRST], item[KEPT_LAST])
        subject, number = -1 - (key * tensors + k), s.scalar[EVENTS]
        touched = item[KEPT_TOUCHED]
        end = move(p, s, int(LOAD), subject, touched, p.param_xfer[key, k], p.param_bytes[key, k])
        item[KEPT_READY] = item[KEPT_TOUCHED] = end
        item[KEPT_FIRST] = item[KEPT_LAST] = number
    s.kept[slot] = key
    return slot


@inner
def _issue(p: TilingArrays, s: ScheduleArrays, op: int, npu: int, slot: int) -> None:
    """Run an operation on an NPU, and finish its accumulators if it is the last to add."""
    accs, tensors = p.finish.shape[0], p.param_bytes.shape[1]
    acc = p.reads[op, 2]
    start = 0
    for role in range(3):
        if role < 2 or s.tile[acc, BY] != npu:
            start = max(start, s.tile[p.reads[op, role], READY])
    begin = max(s.mx[npu], start + p.fill[op, npu])
    clear = 0 if s.tile[acc, SEEN] else 1
    s.tile[acc, SEEN] = 1
    done = begin + (p.latency[op, npu] if clear else p.adding[op, npu])
    s.mx[npu] = done
    end = done + p.drain[op, npu]
    number = note(s, COMPUTE, op, npu, start, end, clear)
    s.tile[acc, READY] = end
    s.tile[acc, BY] = npu
    for role in range(3):
        tile = p.reads[op, role]
        if not p.resident[tile]:
            touch(s, tile, number, end)
    s.scalar[WORK_LEFT] -= least_work(p, op)
    for role in range(3):
        tile = p.reads[op, role]
        s.tile[tile, LEFT] -= 1
        s.tile[tile, NEXT] += 1
    s.is_done[op] = True
    if s.tile[acc, LEFT] > 0:
        return
    out = acc + accs
    begin = max(s.vx[npu], end)
    if not p.resident[out]:
        begin = max(begin, s.tile[out, READY])
    for k in range(tensors):
        begin = max(begin, s.kept_item[slot, k, KEPT_READY])
    done = begin + p.finish[acc - p.first_acc]
    s.vx[npu] = done
    number = note(s, FINISH, op, npu, begin, done, 0)
    touch(s, acc, number, done)
    for k in range(tensors):
        item = s.kept_item[slot, k]
        item[KEPT_TOUCHED] = max(item[KEPT_TOUCHED], done)
        item[KEPT_LAST] = number
    if not p.resident[out]:
        touch(s, out, number, done)
        s.tile[out, READY] = done
        s.pending[s.scalar[PENDING]] = out
        s.scalar[PENDING] += 1


@inner
def _assign(p: TilingArrays, s: ScheduleArrays, count: int) -> None:
    """Put the set in the order in which its operands are there, and choose the NPU of each.

    Each operation goes to the NPU that would end it first.
    """
    npus = s.mx.shape[0]
    for k in range(count):
        op, time = s.members[k], 0
        for role in range(3):
            time = max(time, s.tile[p.reads[op, role], READY])
        j = k
        while j > 0 and s.queue[j - 1, 0] > time:
            s.queue[j, 0], s.queue[j, 1] = s.queue[j - 1, 0], s.queue[j - 1, 1]
            j -= 1
        s.queue[j, 0], s.queue[j, 1] = time, op
    for npu in range(npus):
        s.queue[npu, 3] = s.mx[npu]
    for k in range(count):
        best, best_end = -1, NEVER
        for npu in range(npus):
            ready = s.queue[k, 0] + p.fill[s.queue[k, 1], npu]
            end = max(s.queue[npu, 3], ready) + p.latency[s.queue[k, 1], npu]
            if end < best_end:
                best, best_end = npu, end
        s.queue[k, 2] = best
        s.queue[best, 3] = best_end


@inner
def do_set(p: TilingArrays, s: ScheduleArrays, count: int) -> None:
    """Schedule the set in ``members``, whose space is planned.

    Args:
        p: The problem.
        s: State of the schedule.
        count: Operations of the set.
    """
    waiting = s.scalar[PENDING]
    for k in range(waiting):
        s.oldest[k] = s.pending[k]
    make_space(p, s)
    for k in range(waiting):
        if s.tile[s.oldest[k], AT] >= 0:
            store(p, s, s.oldest[k])
    _assign(p, s, count)
    for k in range(count):
        op, npu, slot = s.queue[k, 1], s.queue[k, 2], 0
        acc = p.reads[op, 2]
        if s.tile[acc, LEFT] == 1:
            slot = _parameters(p, s, p.params[acc - p.first_acc])
        _issue(p, s, op, npu, slot)
    for k in range(count):
        for role in range(3):
            tile = p.reads[s.members[k], role]
            if s.tile[tile, LEFT] == 0 and s.tile[tile, AT] >= 0:
                free(p, s, tile)
    for k in range(count):
        s.order[s.scalar[ISSUED]] = s.members[k]
        s.scalar[ISSUED] += 1
    s.group[s.scalar[GROUPS]] = count
    s.scalar[GROUPS] += 1
    tidy(s)
