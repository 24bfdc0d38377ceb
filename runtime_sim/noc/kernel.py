"""The discrete events of the mesh; :mod:`.transfers` has the rules.

A packet is followed by its head. When the head crosses link ``j`` in cycle ``h[j]``, flit ``k``
crosses link ``i`` before it in cycle ``max over j >= i, (j - i) * B <= k of
h[j] + k - (j - i) * (B - 1)`` with buffers of ``B`` flits: a flit waits for the one ``B`` places
ahead of it to leave the next buffer. So the cycle in which the last flit crosses a link is known as
soon as the head is as many links ahead as the packet fills buffers, and there are two events for
each packet and link, however many flits it has: the head can leave a router, and the last flit has
crossed.
"""

# The stubs of Numba are partial.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportMissingTypeStubs=false

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...ir.compiled import entry, inner
from .dram import LEAD, PARTS, PASSED, WINDOW, access, is_open

Ints = NDArray[np.int64]

NO_MEMORY, READ, WRITE = range(3)
"""What a transfer asks of the off-chip memory."""

(
    TREE,
    FLITS,
    MEMORY,
    ADDRESS,
    WAITS,
    NEXT,
    NEXT_END,
    LEFT,
    UNDELIVERED,
    ASKED,
    IN_FLIGHT,
    AT_MEMORY,
    IS_ASKING,
    DONE,
) = range(14)
"""Columns of tasks: tree of links, -1 for a delay; flits, or cycles; what is asked of the memory,
and from which byte on; tasks that it waits for still; first of those that wait for it, and one past
the last; flits that no packet has taken yet; packets that are not done. Of the memory: flits that
it was asked for; packets asked for and not sent (not written) yet; packets read and not sent (come
and not asked for) yet; whether it is in the queue. Last cycle, -1 before it is known."""

FIRST, REACHED, PACKET_FLITS = range(3)
"""Columns of trees: first step; nodes that it reaches; flits of a packet at most."""

LINK, PARENT, CHILD, CHILD_END = range(4)
"""Columns of steps along trees: link; step before it within the tree; first of those behind it, and
one past the last."""

IS_OUT, SPARE, IS_BUSY, IS_TOUCHED, CROSSED, FRONT, BACK = range(7)
"""Columns of links, the last of which is the memory: whether it leads to a node; free buffers
behind it; whether a packet is on it; whether it may let a head pass now; flits so far; first and
last in its queue, -1 for none."""

TASK, STEP, LENGTH, TO_REACH = range(4)
"""Columns of packets under way: task, first step, flits, nodes that it has still to
reach."""

HEAD, OPEN, SINCE, BEFORE, AFTER = range(5)
"""Columns of places: when the head crossed; links behind it that the last flit has not crossed yet;
in a queue, since when and between which. A place is a step of a packet under way, a task at its
first link, or a task at the memory."""

(
    ROUTER_CYCLES,
    BUFFER_FLITS,
    MEMORY_PARTS,
    FLIT_BYTES,
    AHEAD,
    LONGEST,
    STEPS,
    EVENTS,
    FREE,
    TOUCHED,
    MEMORY_TIME,
    PACKETS,
) = range(12)
"""Figures: cycles of a router, flits of a buffer, parts of a cycle of a flit at the memory, bytes
of a flit, packets that the memory is asked for at once by one task, steps of the longest tree,
places that are steps of packets; then events to come, free rows of packets, touched links, until
when the memory works in parts of a cycle, packets so far."""

_HEAD_EVENT, _RELEASE, _DELAY, _DATA, _MEMORY_FREE = range(5)
_KIND_BITS = 3
_EVENT_BITS = 31


class Net(NamedTuple):
    """All that the events read and change.

    Attributes:
        tasks: ``[tasks, 14]``.
        next: Tasks that wait for others, by these.
        trees: ``[trees, 3]``.
        steps: ``[steps, 4]``.
        children: Steps within their trees, by the step before them.
        links: ``[links + 1, 7]``.
        packets: ``[packets under way, 4]``.
        places: ``[places, 5]``.
        figures: ``[12]``.
        dram: Timing of the memory; empty where only its bandwidth counts.
        banks: Its banks.
        heap: Events, the earliest first: time, then what happens.
        free: Rows of packets that are free.
        touched: Links that may let a head pass now.
    """

    tasks: Ints
    next: Ints
    trees: Ints
    steps: Ints
    children: Ints
    links: Ints
    packets: Ints
    places: Ints
    figures: Ints
    dram: Ints
    banks: Ints
    heap: Ints
    free: Ints
    touched: Ints


@entry
def run_events(net: Net) -> None:
    """Run all tasks; those that wait for each other in a circle are not done."""
    for number in range(net.tasks.shape[0]):
        if not net.tasks[number, WAITS]:
            _start(net, number, 0)
    _grant_all(net, 0)
    while net.figures[EVENTS]:
        now = net.heap[0] >> _EVENT_BITS
        while net.figures[EVENTS] and net.heap[0] >> _EVENT_BITS == now:
            event = _pop(net)
            _happen(net, event & 7, event >> _KIND_BITS, now)
        _grant_all(net, now)


@inner
def _push(net: Net, time: int, kind: int, what: int) -> None:
    """Put an event into the heap."""
    heap, at = net.heap, net.figures[EVENTS]
    event = time << _EVENT_BITS | what << _KIND_BITS | kind
    net.figures[EVENTS] = at + 1
    while at and heap[(at - 1) >> 1] > event:
        heap[at] = heap[(at - 1) >> 1]
        at = (at - 1) >> 1
    heap[at] = event


@inner
def _pop(net: Net) -> int:
    """Take the earliest event out; return all but its time."""
    heap, size = net.heap, net.figures[EVENTS] - 1
    top, event, at = heap[0], heap[size], 0
    net.figures[EVENTS] = size
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= event:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = event
    return top & ((1 << _EVENT_BITS) - 1)


@inner
def _happen(net: Net, kind: int, what: int, now: int) -> None:
    """Take one event in."""
    if kind == _HEAD_EVENT:
        slot, position = divmod(what, net.figures[LONGEST])
        link = net.steps[net.packets[slot, STEP] + position, LINK]
        _request(net, link, what, net.packets[slot, TASK], now)
    elif kind == _RELEASE:
        _release(net, what, now)
    elif kind == _DELAY:
        _finish(net, what, now)
    elif kind == _DATA:
        _remembered(net, what, now)
    else:
        net.links[net.links.shape[0] - 1, IS_BUSY] = 0


@inner
def _touch(net: Net, link: int) -> None:
    if not net.links[link, IS_TOUCHED]:
        net.links[link, IS_TOUCHED] = 1
        net.touched[net.figures[TOUCHED]] = link
        net.figures[TOUCHED] += 1


@inner
def _request(net: Net, link: int, entry: int, number: int, since: int) -> None:
    """Queue up at a link (or the memory): the earliest first, then the lowest task."""
    net.places[entry, SINCE] = since
    at = net.links[link, BACK]
    while at >= 0 and (
        net.places[at, SINCE] > since
        or (net.places[at, SINCE] == since and _task_of(net, at) > number)
    ):
        at = net.places[at, BEFORE]
    _put_behind(net, link, at, entry)
    _touch(net, link)


@inner
def _put_behind(net: Net, link: int, before: int, entry: int) -> None:
    """Put an entry into a queue, behind another one; -1 makes it the first."""
    after = net.links[link, FRONT] if before < 0 else net.places[before, AFTER]
    net.places[entry, BEFORE], net.places[entry, AFTER] = before, after
    _join(net, link, before, entry)
    _join(net, link, entry, after)


@inner
def _take_out(net: Net, link: int, entry: int) -> None:
    """Take an entry out of a queue."""
    _join(net, link, net.places[entry, BEFORE], net.places[entry, AFTER])


@inner
def _join(net: Net, link: int, before: int, after: int) -> None:
    """Let two entries of a queue follow each other; -1 is an end of it."""
    if before < 0:
        net.links[link, FRONT] = after
    else:
        net.places[before, AFTER] = after
    if after < 0:
        net.links[link, BACK] = before
    else:
        net.places[after, BEFORE] = before


@inner
def _task_of(net: Net, entry: int) -> int:
    steps = net.figures[STEPS]
    if entry < steps:
        return net.packets[entry // net.figures[LONGEST], TASK]
    return (entry - steps) % net.tasks.shape[0]


@inner
def _start(net: Net, number: int, now: int) -> None:
    """Begin a task that waits for nothing any more."""
    if net.tasks[number, TREE] < 0:
        _push(net, now + net.tasks[number, FLITS], _DELAY, number)
    elif net.tasks[number, MEMORY] == READ and _has_memory(net):
        _ask_memory(net, number, now)
    else:
        _inject(net, number, now)


@inner
def _inject(net: Net, number: int, since: int) -> None:
    link = net.steps[net.trees[net.tasks[number, TREE], FIRST], LINK]
    _request(net, link, net.figures[STEPS] + number, number, since)


@inner
def _has_memory(net: Net) -> bool:
    """Whether the memory takes time."""
    return net.figures[MEMORY_PARTS] > 0 or net.dram.shape[0] > 0


@inner
def _ask_memory(net: Net, number: int, now: int) -> None:
    """Queue up at the memory, unless the task is there, has all, or waits for enough."""
    if (
        net.tasks[number, IS_ASKING]
        or net.tasks[number, ASKED] == net.tasks[number, FLITS]
        or net.tasks[number, IN_FLIGHT] >= net.figures[AHEAD]
        or (net.tasks[number, MEMORY] == WRITE and not net.tasks[number, AT_MEMORY])
    ):
        return
    net.tasks[number, IS_ASKING] = 1
    entry = net.figures[STEPS] + net.tasks.shape[0] + number
    _request(net, net.links.shape[0] - 1, entry, number, now)


@inner
def _grant_all(net: Net, now: int) -> None:
    """Let heads cross in this cycle, at most one each link; then let the memory begin."""
    memory, at = net.links.shape[0] - 1, 0
    while at < net.figures[TOUCHED]:
        link = net.touched[at]
        net.links[link, IS_TOUCHED] = 0
        at += 1
        if net.links[link, FRONT] < 0 or net.links[link, IS_BUSY] or link == memory:
            continue
        if net.links[link, IS_OUT] or net.links[link, SPARE]:
            _grant(net, link, now)
    net.figures[TOUCHED] = 0
    if net.links[memory, FRONT] >= 0 and not net.links[memory, IS_BUSY]:
        _serve(net, now)


@inner
def _grant(net: Net, link: int, now: int) -> None:
    """Let the first in the queue of a link cross."""
    entry, longest = net.links[link, FRONT], net.figures[LONGEST]
    _take_out(net, link, entry)
    if entry >= net.figures[STEPS]:
        entry = _new_packet(net, entry, now) * longest
    slot, position = divmod(entry, longest)
    net.links[link, IS_BUSY] = 1
    net.places[entry, HEAD] = now
    net.links[link, CROSSED] += net.packets[slot, LENGTH]
    if not net.links[link, IS_OUT]:
        net.links[link, SPARE] -= 1
    at = net.packets[slot, STEP] + position
    net.places[entry, OPEN] = net.steps[at, CHILD_END] - net.steps[at, CHILD]
    for child in range(net.steps[at, CHILD], net.steps[at, CHILD_END]):
        _push(
            net, now + net.figures[ROUTER_CYCLES], _HEAD_EVENT, slot * longest + net.children[child]
        )
    _settle(net, slot, position, longest, net.links[link, IS_OUT])


@inner
def _settle(net: Net, slot: int, position: int, longest: int, is_last: int) -> None:
    """Push the releases of all links whose last flit is known to cross by now."""
    length, size = net.packets[slot, LENGTH], net.figures[BUFFER_FLITS]
    reach = (length - 1) // size
    if reach == 0:
        entry = slot * longest + position
        _push(net, net.places[entry, HEAD] + length, _RELEASE, entry)
        return
    for link in range(max(position - reach, 0), position + 1 if is_last else position - reach + 1):
        crossed = 0
        for ahead in range(min(reach, position - link) + 1):
            head = net.places[slot * longest + link + ahead, HEAD]
            crossed = max(crossed, head + length - 1 - ahead * (size - 1))
        _push(net, crossed + 1, _RELEASE, slot * longest + link)


@inner
def _new_packet(net: Net, entry: int, now: int) -> int:
    """Return the slot of the next packet of a task, whose head crosses its first link."""
    number = entry - net.figures[STEPS]
    net.figures[FREE] -= 1
    slot = int(net.free[net.figures[FREE]])
    tree = net.tasks[number, TREE]
    net.packets[slot, TASK], net.packets[slot, STEP] = number, net.trees[tree, FIRST]
    net.packets[slot, LENGTH] = min(net.tasks[number, LEFT], net.trees[tree, PACKET_FLITS])
    net.tasks[number, LEFT] -= net.packets[slot, LENGTH]
    net.packets[slot, TO_REACH] = net.trees[tree, REACHED]
    net.figures[PACKETS] += 1
    if net.tasks[number, MEMORY] == READ and _has_memory(net):
        net.tasks[number, IN_FLIGHT] -= 1
        net.tasks[number, AT_MEMORY] -= 1
        if net.tasks[number, AT_MEMORY]:
            _inject(net, number, now)
        _ask_memory(net, number, now)
    elif net.tasks[number, LEFT]:  # keeps its place, before all that came later
        _put_behind(net, net.steps[net.trees[tree, FIRST], LINK], -1, entry)
    return slot


@inner
def _release(net: Net, entry: int, now: int) -> None:
    """The last flit of a packet has crossed a link: free it, and the buffer before it."""
    longest = net.figures[LONGEST]
    slot, position = divmod(entry, longest)
    number = net.packets[slot, TASK]
    base = net.packets[slot, STEP]
    link = net.steps[base + position, LINK]
    net.links[link, IS_BUSY] = 0
    _touch(net, link)
    if position:
        parent = net.steps[base + position, PARENT]
        net.places[slot * longest + parent, OPEN] -= 1
        if not net.places[slot * longest + parent, OPEN]:
            before = net.steps[base + parent, LINK]
            net.links[before, SPARE] += 1
            _touch(net, before)
    if net.links[link, IS_OUT]:
        net.packets[slot, TO_REACH] -= 1
        if not net.packets[slot, TO_REACH]:
            net.free[net.figures[FREE]] = slot
            net.figures[FREE] += 1
            _delivered(net, number, now)


@inner
def _delivered(net: Net, number: int, now: int) -> None:
    """A packet is where it is to go."""
    if net.tasks[number, MEMORY] == WRITE and _has_memory(net):
        net.tasks[number, AT_MEMORY] += 1
        _ask_memory(net, number, now)
    else:
        _count_packet(net, number, now)


@inner
def _count_packet(net: Net, number: int, now: int) -> None:
    """A packet is done, and so is the task with its last one."""
    net.tasks[number, UNDELIVERED] -= 1
    if not net.tasks[number, UNDELIVERED]:
        _finish(net, number, now)


@inner
def _finish(net: Net, number: int, now: int) -> None:
    """A task is done; those that wait for nothing else begin."""
    net.tasks[number, DONE] = now - 1
    for at in range(net.tasks[number, NEXT], net.tasks[number, NEXT_END]):
        other = net.next[at]
        net.tasks[other, WAITS] -= 1
        if not net.tasks[other, WAITS]:
            _start(net, other, now)


@inner
def _serve(net: Net, now: int) -> None:
    """Let the memory read or write the next packet of a task."""
    memory = net.links.shape[0] - 1
    entry = _pick(net, memory)
    number = _task_of(net, entry)
    flits = _next_flits(net, number)
    is_write = net.tasks[number, MEMORY] == WRITE
    free, end = _serving_times(net, number, flits, is_write, now)
    net.tasks[number, IS_ASKING] = 0
    net.tasks[number, ASKED] += flits
    net.tasks[number, IN_FLIGHT] += 1
    if is_write:
        net.tasks[number, AT_MEMORY] -= 1
    net.links[memory, IS_BUSY] = 1
    _push(net, max(-(-free // PARTS), now + 1), _MEMORY_FREE, number)
    _push(net, max(-(-end // PARTS), now + 1), _DATA, number)
    _ask_memory(net, number, now)


@inner
def _serving_times(net: Net, number: int, flits: int, is_write: bool, now: int) -> tuple[int, int]:
    """Return when the memory can take up the next packet, and when it has this one."""
    if net.dram.shape[0]:
        size = flits * net.figures[FLIT_BYTES]
        end = access(net.dram, net.banks, _next_byte(net, number), size, is_write, now * PARTS)
        return end - net.dram[LEAD], end
    begin = net.figures[MEMORY_TIME]
    if now * PARTS - begin >= PARTS:
        begin = now * PARTS
    end = begin + flits * net.figures[MEMORY_PARTS]
    net.figures[MEMORY_TIME] = end
    return end, end


@inner
def _next_flits(net: Net, number: int) -> int:
    """Return the flits of the next packet that a task asks the memory for."""
    most = net.trees[net.tasks[number, TREE], PACKET_FLITS]
    return min(net.tasks[number, FLITS] - net.tasks[number, ASKED], most)


@inner
def _next_byte(net: Net, number: int) -> int:
    """Return the first byte of the next packet that a task asks the memory for."""
    return net.tasks[number, ADDRESS] + net.tasks[number, ASKED] * net.figures[FLIT_BYTES]


@inner
def _pick(net: Net, memory: int) -> int:
    """Take who is served next out of the memory's queue.

    The first whose row is open, of the first ``WINDOW``; else the first of all. The first is passed
    over four times as often at most, so that it is served some day.
    """
    entry = first = net.links[memory, FRONT]
    if net.dram.shape[0]:
        entry = _first_open(net, first) if net.dram[PASSED] < 4 * net.dram[WINDOW] else first
        net.dram[PASSED] = 0 if entry == first else net.dram[PASSED] + 1
    _take_out(net, memory, entry)
    return entry


@inner
def _first_open(net: Net, first: int) -> int:
    """Return the first of those looked at whose row is open; else the first of all."""
    entry = first
    for _ in range(net.dram[WINDOW]):
        if entry < 0:
            break
        if is_open(net.dram, net.banks, _next_byte(net, _task_of(net, entry))):
            return entry
        entry = net.places[entry, AFTER]
    return first


@inner
def _remembered(net: Net, number: int, now: int) -> None:
    """The memory has read or written a packet of a task."""
    if net.tasks[number, MEMORY] == READ:
        net.tasks[number, AT_MEMORY] += 1
        if net.tasks[number, AT_MEMORY] == 1:
            _inject(net, number, now)
        return
    net.tasks[number, IN_FLIGHT] -= 1
    _ask_memory(net, number, now)
    _count_packet(net, number, now)
