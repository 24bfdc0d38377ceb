"""Small meshes, and tasks for both simulators of them."""

import random

import numpy as np

from accnn.ir.arch import MeshNetwork
from accnn.ir.mesh import Mesh
from accnn.runtime_sim.noc.kernel import NO_MEMORY, READ, WRITE
from accnn.runtime_sim.noc.transfers import Arrivals, Transfers

from .cycle_by_cycle import Task

MEMORY = {"": NO_MEMORY, "read": READ, "write": WRITE}


def network(**changes) -> MeshNetwork:
    figures = {"fanout": "pe", "columns": 4, "rows": 3, "router_cycles": 1, "buffer_flits": 4}
    ports = {"scratchpad_ports": ((0, 0),), "off_chip_ports": ((0, 1),)}
    return MeshNetwork(**{**figures, **ports, **changes})


def drawn(seed: int) -> tuple[MeshNetwork, list[Task], float | None]:
    """Return a network, tasks and the bandwidth of the memory, drawn at random."""
    draw = random.Random(seed)
    router = draw.randint(1, 3)
    net = network(
        columns=draw.randint(1, 4),
        rows=draw.randint(2, 3),
        router_cycles=router,
        buffers=draw.randint(1, 3),
        buffer_flits=draw.randint(router + 1, 7),
        packet_flits=draw.choice([3, 8, 20, 40]),
    )
    nodes = len(Mesh(net).positions)
    tasks = []
    for number in range(draw.randint(1, 30)):
        waits = sorted(set(draw.choices(range(number), k=draw.randint(0, 2)))) if number else []
        if draw.random() < 0.2:
            tasks.append(Task(-1, (), draw.randint(1, 30), "", waits))
            continue
        source = draw.randrange(nodes)
        several = draw.choices(range(nodes), k=draw.choice([1, 1, 2, 5]))
        others = tuple(dict.fromkeys(node for node in several if node != source))
        memory = draw.choice(["", "", "read", "write"])
        others = others or ((source + 1) % nodes,)
        tasks.append(Task(source, others, draw.randint(1, 60), memory, waits))
    return net, tasks, draw.choice([None, 3.0, 8.0, 20.0, 100.0])


def run(net: MeshNetwork, tasks: list[Task], bandwidth: float | None = None) -> Arrivals:
    """Run tasks by events."""
    transfers = Transfers(Mesh(net))
    for number, task in enumerate(tasks):
        flits = np.array([task.flits])
        if task.source < 0:
            transfers.delays(flits)
        else:
            tree = transfers.tree(task.source, task.destinations)
            transfers.add(np.array([tree]), flits, MEMORY[task.memory])
        if task.waits:
            transfers.order(np.array(task.waits), np.array([number]))
    return transfers.run(bandwidth)
