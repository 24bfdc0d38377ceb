"""Every pass, by phase. To add a pass, import its class and put it on the list."""

from .base import Pass
from .graph.decompose_softmax import DecomposeSoftmax
from .graph.eliminate_dead import EliminateDead
from .graph.fold_layout import FoldLayout
from .graph.merge_duplicates import MergeDuplicates
from .graph.remove_identities import RemoveIdentities
from .mapping.map_operators import MapOperators
from .pipeline import Pipeline, parse_pipeline
from .scheduling.across.schedule_across import ScheduleAcross
from .scheduling.count_traffic import CountTraffic
from .scheduling.flexer.schedule_flexer import ScheduleFlexer
from .scheduling.schedule_cosma import ScheduleCosma
from .scheduling.schedule_in_order import ScheduleInOrder
from .scheduling.schedule_linear import ScheduleLinear
from .scheduling.schedule_tiles import ScheduleTiles

PASSES: tuple[type[Pass], ...] = (
    # The graph.
    EliminateDead,
    RemoveIdentities,
    MergeDuplicates,
    FoldLayout,
    DecomposeSoftmax,
    # The plan of the scratchpad.
    ScheduleInOrder,
    ScheduleLinear,
    ScheduleCosma,
    # Loop nests.
    MapOperators,
    # Tiles and their order.
    ScheduleTiles,
    ScheduleFlexer,
    CountTraffic,
    ScheduleAcross,
)
"""All passes that a pipeline may name."""


def pipeline(text: str) -> Pipeline:
    """Read a pipeline of registered passes.

    Raises:
        ParseError: The text breaks the syntax.
        PipelineError: There is no such pass.
        OptionError: A pass has no such option, or the value is of another type.
    """
    return parse_pipeline(text, PASSES)
