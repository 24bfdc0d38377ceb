"""From options to the pipeline of passes that compiles a network."""

from collections.abc import Callable, Mapping
from pathlib import Path

from ..ir.errors import OptionError, PipelineError
from ..ir.module import Stage
from ..ir.suggest import suggest
from ..passes.base import Pass
from ..passes.graph.decompose_softmax import DecomposeSoftmax
from ..passes.graph.dequantize_constants import DequantizeConstants
from ..passes.graph.eliminate_dead import EliminateDead
from ..passes.graph.fold_affine import FoldAffine
from ..passes.graph.fold_axes import FoldAxes
from ..passes.graph.fold_layout import FoldLayout
from ..passes.graph.fuse_activations import FuseActivations
from ..passes.graph.fuse_tables import FuseTables
from ..passes.graph.integers.form_integers import FormIntegers
from ..passes.graph.merge_duplicates import MergeDuplicates
from ..passes.graph.merge_moves import MergeMoves
from ..passes.graph.remove_identities import RemoveIdentities
from ..passes.graph.split_averages import SplitAverages
from ..passes.graph.split_float_products import SplitFloatProducts
from ..passes.graph.split_gathers import SplitGathers
from ..passes.mapping.recipes.output_stationary import OutputStationary
from ..passes.mapping.registry import find_mapper
from ..passes.pipeline import Pipeline
from ..passes.registry import pipeline as parse
from ..passes.scheduling.across.schedule_across import ScheduleAcross
from ..passes.scheduling.cosma.baselines import Replacement
from ..passes.scheduling.count_traffic import CountTraffic
from ..passes.scheduling.flexer.schedule_flexer import ScheduleFlexer
from ..passes.scheduling.map_operators import MapOperators
from ..passes.scheduling.schedule_cosma import ScheduleCosma
from ..passes.scheduling.schedule_in_order import ScheduleInOrder
from ..passes.scheduling.schedule_linear import Order, ScheduleLinear
from ..passes.scheduling.static.schedule_tiles import ScheduleTiles
from .options import LOWER, CompileOptions


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
        fuse=options.fuse,
    ),
    **{f"{order}-{rule}": _linear(order, rule) for order in Order for rule in Replacement},
}
"""Passes that plan the scratchpad, by the name that ``--scheduler`` takes.

COSMA weighs hundreds of ways to execute operators; the greedy mapper measures them.
"""


def _for_tiles(mapper: str) -> str:
    """Return who maps single tiles, of which there are thousands."""
    return find_mapper(mapper).stand_in.name


TILE_SCHEDULERS: Mapping[str, Callable[[CompileOptions], Pass]] = {
    "static": lambda options: ScheduleTiles(),
    "flexer": lambda options: ScheduleFlexer(mapper=_for_tiles(options.mapper)),
    "static-across": lambda options: ScheduleTiles(),
    "flexer-across": lambda options: ScheduleFlexer(mapper=_for_tiles(options.mapper)),
}
"""Passes that order the tiles of each operator, by the name that ``--tiles`` takes."""

ACROSS = frozenset({"static-across", "flexer-across"})
"""Names of ``--tiles`` that then join all operators."""


REWRITES: tuple[Pass, ...] = (
    EliminateDead(),
    FormIntegers(),
    DequantizeConstants(),
    FoldAffine(),
    FuseActivations(),
)
"""Passes that make of the imported graph the operators that onnxruntime runs.

Integers come first, because fused activations would hide the operators between dequantise and
quantise; what they leave of quantised constants becomes float constants. Affine folding goes before
activations, because a product or sum after one cannot move into the weights.
"""

CLEAN_UP: tuple[Pass, ...] = (
    FoldLayout(),
    MergeMoves(),
    RemoveIdentities(),
    MergeDuplicates(),
    FuseTables(),
    EliminateDead(),
)
"""Passes that make the graph smaller without changing what it computes."""


def chosen_pipeline(options: CompileOptions, given: Pipeline | None = None) -> Pipeline:
    """Return the passes of a compilation, up to the last one that is wanted.

    Args:
        options: What to choose.
        given: The passes, where they are at hand; else the text of the options or what they choose.

    Raises:
        InputError: The text is wrong, an option names nothing that exists, or the passes do not
            make what the compilation goes on to read.
    """
    pipeline = given
    if pipeline is None:
        text = options.pipeline
        pipeline = default_pipeline(options) if text is None else parse(text)
    for setting in options.settings:
        pipeline = pipeline.with_setting(setting)
    if options.until is not None and not options.lowers:
        pipeline = _until(pipeline, options.until)
    present = pipeline.check(_IMPORTED)
    for stage in _LOWERED if options.lowers else ():
        if stage not in present:
            raise PipelineError(
                f"the pipeline does not give {stage}, which lowering needs",
                hint="add a pass that gives it, or name the last pass with --until",
            )
    return pipeline


_IMPORTED = frozenset({Stage.GRAPH, Stage.ARCH})
_LOWERED = (Stage.GRAPH_SCHEDULE, Stage.TILE_SCHEDULE)


def _until(pipeline: Pipeline, name: str) -> Pipeline:
    names = [item.name for item in pipeline.passes]
    if name not in names:
        raise OptionError(f"--until {name}: no such pass", hint=suggest(name, (*names, LOWER)))
    return pipeline.until(name)


def pipeline_text(given: str) -> str:
    """Return the text of a pipeline that is given as text, or as a file with that text.

    In a file, lines that begin with ``//`` are comments.

    Raises:
        OptionError: The file cannot be read.
    """
    if any(mark in given for mark in "{,") or not Path(given).is_file():
        return given
    try:
        lines = Path(given).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"cannot read the pipeline {given}: {error}") from error
    return "\n".join(line for line in lines if not line.lstrip().startswith("//"))


def default_pipeline(options: CompileOptions) -> Pipeline:
    """Return the passes between the imported graph and lowering.

    Raises:
        OptionError: An option names no scheduler or mapper.
    """
    find_mapper(options.mapper)
    return Pipeline(
        (
            *REWRITES,
            SplitFloatProducts(),
            SplitGathers(),
            FoldAxes(),
            *CLEAN_UP,
            DecomposeSoftmax(),
            SplitAverages(),
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
        raise OptionError(f"no {what} named {name!r}", hint=suggest(name, table))
    return table[name]
