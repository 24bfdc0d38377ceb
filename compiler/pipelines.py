"""From options to the pipeline of passes that compiles a network."""

from collections.abc import Callable, Mapping

from ..ir.errors import OptionError
from ..passes.base import Pass
from ..passes.graph.decompose_softmax import DecomposeSoftmax
from ..passes.graph.eliminate_dead import EliminateDead
from ..passes.graph.fold_layout import FoldLayout
from ..passes.graph.merge_duplicates import MergeDuplicates
from ..passes.graph.remove_identities import RemoveIdentities
from ..passes.mapping.map_operators import MapOperators
from ..passes.mapping.output_stationary import OutputStationary
from ..passes.mapping.registry import find_mapper
from ..passes.pipeline import Pipeline
from ..passes.scheduling.across.schedule_across import ScheduleAcross
from ..passes.scheduling.cosma.baselines import Replacement
from ..passes.scheduling.count_traffic import CountTraffic
from ..passes.scheduling.flexer.schedule_flexer import ScheduleFlexer
from ..passes.scheduling.schedule_cosma import ScheduleCosma
from ..passes.scheduling.schedule_in_order import ScheduleInOrder
from ..passes.scheduling.schedule_linear import Order, ScheduleLinear
from ..passes.scheduling.schedule_tiles import ScheduleTiles
from .options import CompileOptions


def _scratchpad(options: CompileOptions) -> str | None:
    return None if options.scratchpad is None else str(options.scratchpad)


def _linear(order: Order, rule: Replacement) -> Callable[[CompileOptions], Pass]:
    return lambda options: ScheduleLinear(
        scratchpad=_scratchpad(options), order=order, replacement=rule
    )


GRAPH_SCHEDULERS: Mapping[str, Callable[[CompileOptions], Pass]] = {
    "in-order": lambda options: ScheduleInOrder(scratchpad=_scratchpad(options)),
    "cosma": lambda options: ScheduleCosma(
        scratchpad=_scratchpad(options),
        mapper=OutputStationary().name,
        objective=options.objective,
    ),
    **{f"{order}-{rule}": _linear(order, rule) for order in Order for rule in Replacement},
}
"""Passes that plan the scratchpad, by the name that ``--scheduler`` takes.

COSMA weighs hundreds of ways to execute operators; the greedy mapper measures them.
"""


def _for_tiles(mapper: str) -> str:
    """Return who maps single tiles, of which there are thousands: the greedy one for CoSA."""
    return OutputStationary().name if mapper == "cosa" else mapper


TILE_SCHEDULERS: Mapping[str, Callable[[CompileOptions], Pass]] = {
    "static": lambda options: ScheduleTiles(),
    "flexer": lambda options: ScheduleFlexer(mapper=_for_tiles(options.mapper)),
    "static-across": lambda options: ScheduleTiles(),
    "flexer-across": lambda options: ScheduleFlexer(mapper=_for_tiles(options.mapper)),
}
"""Passes that order the tiles of each operator, by the name that ``--tiles`` takes."""

ACROSS = frozenset({"static-across", "flexer-across"})
"""Names of ``--tiles`` that then join all operators."""


CLEAN_UP: tuple[Pass, ...] = (
    FoldLayout(),
    RemoveIdentities(),
    MergeDuplicates(),
    EliminateDead(),
)
"""Passes that make the imported graph smaller; what it computes stays."""


def default_pipeline(options: CompileOptions) -> Pipeline:
    """Return the passes between the imported graph and lowering.

    Raises:
        OptionError: An option names no scheduler or mapper.
    """
    find_mapper(options.mapper)
    return Pipeline(
        (
            *CLEAN_UP,
            DecomposeSoftmax(),
            _choose("scheduler", options.scheduler, GRAPH_SCHEDULERS)(options),
            MapOperators(mapper=options.mapper, objective=options.objective),
            _choose("tile scheduler", options.tiles, TILE_SCHEDULERS)(options),
            CountTraffic(),
            *((ScheduleAcross(),) if options.tiles in ACROSS else ()),
        )
    )


def _choose(
    what: str, name: str, table: Mapping[str, Callable[[CompileOptions], Pass]]
) -> Callable[[CompileOptions], Pass]:
    if name not in table:
        raise OptionError(f"no {what} named {name!r}", hint=f"known: {', '.join(table)}")
    return table[name]
