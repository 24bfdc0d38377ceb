"""The mesh flit by flit and cycle by cycle: slow, obvious, and written without the events.

Follows the rules in ``runtime_sim/noc/transfers.py``, and finds its own ways: along the row, then
along the column. In each cycle every link looks at what lay in the buffers when the cycle began,
and moves at most one flit.
"""

import itertools
from collections import deque
from dataclasses import dataclass, field
from fractions import Fraction

from accnn.ir.arch import MeshNetwork

Router = tuple[int, int]
"""Column and row."""

Link = tuple[int | Router, int | Router]
"""Where it leads from and to; a number is a node."""


@dataclass
class Task:
    """A transfer (``source`` to ``destinations``) or a delay (``source`` is -1)."""

    source: int
    destinations: tuple[int, ...]
    flits: int
    memory: str = ""
    waits: list[int] = field(default_factory=list)


@dataclass(eq=False)
class Packet:
    """Flits of a task; ``links`` are those of its tree with their children by link."""

    task: int
    flits: int
    children: dict[Link, list[Link]]
    arrived: dict[Link, int] = field(default_factory=dict)  # flits that reached a node


@dataclass(eq=False)
class Buffer:
    """One buffer behind a link.

    ``flits`` has number and cycle of arrival; ``sent`` says for each next link how many are gone.
    """

    packet: Packet | None = None
    flits: deque = field(default_factory=deque)
    sent: dict[Link, int] = field(default_factory=dict)


@dataclass(eq=False)
class Request:
    """The head of a packet that wants to cross a link, out of a buffer or (``None``) a node."""

    since: int
    task: int
    packet: Packet | None
    buffer: Buffer | None


class Oracle:
    """One run of tasks."""

    def __init__(self, network: MeshNetwork, tasks: list[Task], bandwidth: float | None) -> None:
        self.network, self.tasks = network, tasks
        self.rate = None if bandwidth is None else bandwidth / (network.flit_bits / 8)
        routers = list(itertools.product(range(network.columns), range(network.rows)))
        by_row = sorted(routers, key=lambda router: router[::-1])
        self.router = [*by_row, *network.scratchpad_ports, *network.off_chip_ports]
        inner: list[Link] = [*enumerate(self.router)]
        inner += [(here, to) for here in routers for to in routers if distance(here, to) == 1]
        self.buffers = {link: [Buffer() for _ in range(network.buffers)] for link in inner}
        links = [*inner, *((here, node) for node, here in enumerate(self.router))]
        self.queue: dict[Link, list[Request]] = {link: [] for link in links}
        self.owner: dict[Link, tuple[Packet, Buffer | None, Buffer | None]] = {}
        self.crossed = dict.fromkeys(links, 0)  # flits of the owner that have crossed
        self.left = [task.flits for task in tasks]
        self.undelivered = [task.flits for task in tasks]
        self.done: list[int | None] = [None] * len(tasks)
        self.begun = [False] * len(tasks)
        self.ends: dict[int, int] = {}  # delays
        self.asking: list[tuple[int, int, int]] = []  # since, task, flits: the memory's queue
        self.unwritten: dict[int, list[int]] = {}
        self.serving: tuple[int, int, int] | None = None  # until, task, flits
        self.memory_free = Fraction(0)

    def run(self) -> list[int]:
        now = 0
        while any(done is None for done in self.done):
            self.finish(now)
            self.begin(now)
            self.grant(now)
            self.serve(now)
            self.move(now)
            now += 1
            assert now < 1_000_000, "nothing moves any more"
        return [done for done in self.done if done is not None]

    # -- tasks ----------------------------------------------------------------------------------

    def finish(self, now: int) -> None:
        for number, end in list(self.ends.items()):
            if end == now:
                self.done[number] = now - 1
                del self.ends[number]
        if self.serving is not None and self.serving[0] == now:
            _, number, flits = self.serving
            self.serving = None
            if self.tasks[number].memory == "read":
                self.request(number, now)
                return
            if self.unwritten[number]:
                self.asking.append((now, number, self.unwritten[number].pop(0)))
            self.delivered(number, flits, now - 1)

    def delivered(self, number: int, flits: int, now: int) -> None:
        self.undelivered[number] -= flits
        if not self.undelivered[number]:
            self.done[number] = now

    def begin(self, now: int) -> None:
        for number, task in enumerate(self.tasks):
            ready = all(self.done[other] is not None for other in task.waits)
            if self.begun[number] or not ready:
                continue
            self.begun[number] = True
            if task.source < 0:
                self.ends[number] = now + task.flits
            elif task.memory == "read" and self.rate is not None:
                self.asking.append((now, number, self.next_flits(number)))
            else:
                self.request(number, now)

    def next_flits(self, number: int) -> int:
        most = self.network.packet_flits
        if any(len(behind) > 1 for behind in self.links_of(number).values()):
            most = min(most, self.network.buffer_flits)
        return min(most, self.left[number])

    def request(self, number: int, now: int) -> None:
        source = self.tasks[number].source
        self.queue[source, self.router[source]].append(Request(now, number, None, None))

    # -- ways -----------------------------------------------------------------------------------

    def way(self, source: int, destination: int) -> list[Link]:
        """Return the links from a node to another one."""
        (column, row), (to, below) = self.router[source], self.router[destination]
        along = [(at, row) for at in steps(column, to)] + [(to, at) for at in steps(row, below)]
        routers = [(column, row), *along]
        inner = itertools.pairwise(routers)
        return [(source, routers[0]), *inner, (routers[-1], destination)]

    def links_of(self, number: int) -> dict[Link, list[Link]]:
        """Return the links of a task, each with those behind it."""
        task = self.tasks[number]
        found: dict[Link, list[Link]] = {}
        for destination in task.destinations:
            for link, behind in itertools.pairwise(self.way(task.source, destination)):
                own = found.setdefault(link, [])
                found.setdefault(behind, [])
                if behind not in own:
                    own.append(behind)
        return found

    # -- the memory -----------------------------------------------------------------------------

    def serve(self, now: int) -> None:
        if self.serving is not None or not self.asking or self.rate is None:
            return
        self.asking.sort(key=lambda item: item[:2])
        _, number, flits = self.asking.pop(0)
        if now - self.memory_free >= 1:
            self.memory_free = Fraction(now)
        self.memory_free += flits * Fraction(max(round(256 / self.rate), 1), 256)
        until = max(-(-self.memory_free.numerator // self.memory_free.denominator), now + 1)
        self.serving = until, number, flits

    # -- heads ----------------------------------------------------------------------------------

    def grant(self, now: int) -> None:
        for link, waiting in self.queue.items():
            waiting.sort(key=lambda item: (item.since, item.task))
            if not waiting or link in self.owner:
                continue
            behind = None
            if link in self.buffers:
                behind = next((item for item in self.buffers[link] if item.packet is None), None)
                if behind is None:
                    continue
            request = waiting.pop(0)
            packet = request.packet or self.new_packet(link, request, now)
            if behind is not None:
                behind.packet = packet
                behind.sent = dict.fromkeys(packet.children[link], 0)
            self.owner[link] = packet, request.buffer, behind
            self.crossed[link] = 0

    def new_packet(self, link: Link, request: Request, now: int) -> Packet:
        number = request.task
        task, flits = self.tasks[number], self.next_flits(number)
        self.left[number] -= flits
        if self.left[number] and task.memory == "read" and self.rate is not None:
            self.asking.append((now, number, self.next_flits(number)))
        elif self.left[number]:
            self.queue[link].append(Request(request.since, number, None, None))
        return Packet(number, flits, self.links_of(number))

    # -- flits ----------------------------------------------------------------------------------

    def move(self, now: int) -> None:
        crossing = [link for link in self.owner if self.can_cross(link, now)]
        for link in crossing:
            packet, before, behind = self.owner[link]
            number = self.crossed[link]
            self.crossed[link] += 1
            if before is not None:
                before.sent[link] += 1
            if behind is None:
                self.reached(packet, link, now)
            else:
                behind.flits.append((number, now))
            if self.crossed[link] == packet.flits:
                del self.owner[link]
        for buffer in [item for own in self.buffers.values() for item in own]:
            while buffer.flits and min(buffer.sent.values()) > buffer.flits[0][0]:
                number, _ = buffer.flits.popleft()
                assert buffer.packet is not None
                if number == buffer.packet.flits - 1:
                    buffer.packet = None
        self.look_ahead(now)

    def can_cross(self, link: Link, now: int) -> bool:
        _packet, before, behind = self.owner[link]
        if behind is not None and len(behind.flits) >= self.network.buffer_flits:
            return False
        if before is None:
            return True
        return any(
            number == self.crossed[link] and came + self.network.router_cycles <= now
            for number, came in before.flits
        )

    def look_ahead(self, now: int) -> None:
        """Let heads ask for their next links in the cycle in which they can leave."""
        for buffer in [item for own in self.buffers.values() for item in own]:
            for number, came in buffer.flits:
                if number == 0 and came + self.network.router_cycles == now + 1:
                    assert buffer.packet is not None
                    for child in buffer.sent:
                        self.queue[child].append(
                            Request(now + 1, buffer.packet.task, buffer.packet, buffer)
                        )

    def reached(self, packet: Packet, link: Link, now: int) -> None:
        packet.arrived[link] = packet.arrived.get(link, 0) + 1
        ends = [item for item, children in packet.children.items() if not children]
        if any(packet.arrived.get(item, 0) < packet.flits for item in ends):
            return
        number = packet.task
        if self.tasks[number].memory != "write" or self.rate is None:
            self.delivered(number, packet.flits, now)
            return
        waiting = self.unwritten.setdefault(number, [])
        is_asking = any(item[1] == number for item in self.asking)
        is_served = self.serving is not None and self.serving[1] == number
        if is_asking or is_served:
            waiting.append(packet.flits)
        else:
            self.asking.append((now + 1, number, packet.flits))


def distance(here: Router, to: Router) -> int:
    """Return the links between two routers."""
    return abs(here[0] - to[0]) + abs(here[1] - to[1])


def steps(begin: int, end: int) -> range:
    """Return the numbers on the way from one to another, without the first."""
    return range(begin + 1, end + 1) if begin < end else range(begin - 1, end - 1, -1)
