"""Every pass, by phase. To add a pass, import its class and put it on the list."""

from ..ir.plugins import PluginGroup, Plugins, plugins
from .base import Pass
from .graph.decompose_softmax import DecomposeSoftmax
from .graph.dequantize_constants import DequantizeConstants
from .graph.eliminate_dead import EliminateDead
from .graph.fold_affine import FoldAffine
from .graph.fold_axes import FoldAxes
from .graph.fold_layout import FoldLayout
from .graph.fuse_activations import FuseActivations
from .graph.fuse_tables import FuseTables
from .graph.integers.form_integers import FormIntegers
from .graph.merge_duplicates import MergeDuplicates
from .graph.merge_moves import MergeMoves
from .graph.remove_identities import RemoveIdentities
from .graph.split_averages import SplitAverages
from .graph.split_float_products import SplitFloatProducts
from .graph.split_gathers import SplitGathers
from .options import option_fields
from .pipeline import Pipeline, parse_pipeline
from .scheduling.across.schedule_across import ScheduleAcross
from .scheduling.count_traffic import CountTraffic
from .scheduling.flexer.schedule_flexer import ScheduleFlexer
from .scheduling.map_operators import MapOperators
from .scheduling.schedule_cosma import ScheduleCosma
from .scheduling.schedule_in_order import ScheduleInOrder
from .scheduling.schedule_linear import ScheduleLinear
from .scheduling.static.schedule_tiles import ScheduleTiles

PASSES: tuple[type[Pass], ...] = (
    # The graph.
    EliminateDead,
    FormIntegers,
    FuseTables,
    DequantizeConstants,
    FoldAffine,
    FuseActivations,
    RemoveIdentities,
    MergeDuplicates,
    FoldLayout,
    MergeMoves,
    DecomposeSoftmax,
    SplitFloatProducts,
    SplitGathers,
    SplitAverages,
    FoldAxes,
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
"""All passes of accnn itself."""


def plugin_passes() -> Plugins[type[Pass]]:
    """Return the passes that other packages add."""
    return plugins(PluginGroup.PASSES, _check_pass, taken=[item.name for item in PASSES])


def _check_pass(name: str, loaded: object) -> type[Pass]:
    if not (isinstance(loaded, type) and issubclass(loaded, Pass)):
        raise TypeError(f"{loaded!r} is no subclass of accnn.passes.base.Pass")
    if loaded.name != name:
        raise ValueError(f"the name of {loaded.__name__} is {loaded.name!r}")
    option_fields(loaded)
    return loaded


def pipeline(text: str) -> Pipeline:
    """Read a pipeline of registered passes, those of other packages among them.

    Raises:
        ParseError: The text breaks the syntax.
        PipelineError: There is no such pass.
        OptionError: A pass has no such option, the value is of another type, or the pass is one
            of another package that cannot be used.
    """
    others = plugin_passes()
    return parse_pipeline(text, (*PASSES, *others.usable.values()), others.broken)
