"""Join neighbouring loops over one dimension."""

from ....ir.mapping import Allocation, Loop, LoopNest


def merge_loops(nest: LoopNest) -> LoopNest:
    """Return a nest whose neighbouring loops over one dimension are one loop, where tiles allow."""
    cuts = {item.start for item in nest.allocations}
    loops: list[Loop] = []
    moved: dict[int, int] = {}
    for position, loop in enumerate(nest.temporal):
        moved[position] = len(loops)
        if loops and loops[-1].dim is loop.dim and position not in cuts:
            loops[-1] = Loop(loop.dim, loops[-1].extent * loop.extent)
            moved[position] = len(loops) - 1
        else:
            loops.append(loop)
    moved[len(nest.temporal)] = len(loops)
    return LoopNest(
        workload=nest.workload,
        temporal=tuple(loops),
        spatial=nest.spatial,
        allocations=tuple(
            Allocation(item.operand, item.level, moved[item.start]) for item in nest.allocations
        ),
    )
