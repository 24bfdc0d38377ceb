"""The tile schedule of a module, and those of its operators by themselves."""

from accnn.ir.module import Module
from accnn.ir.tiles.schedule import TileSchedule
from accnn.passes.scheduling.static.schedule_tiles import schedule_operator


def tiles_of(module: Module) -> TileSchedule:
    """Return the tile schedule of a module that has one."""
    assert module.tile_schedule is not None
    return module.tile_schedule


def by_themselves(module: Module) -> tuple[TileSchedule, ...]:
    """Return the static tile schedule of each operator, before it joins the others."""
    plan = module.graph_schedule
    assert plan is not None
    return tuple(schedule_operator(module, module.graph.producer[name]) for name in plan.order)
