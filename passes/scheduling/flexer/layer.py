"""A single layer without a network, as a site for the scheduler; and its results as rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ....ir.arch import Architecture, Precision
from ....ir.errors import OptionError
from ....ir.graph import Graph, Value
from ....ir.graph_schedule import GraphSchedule, Stream, Workspace
from ....ir.ops import make_op
from ....ir.suggest import suggest
from ....ir.types import DType, Quantization, TensorType
from ....ir.workload import Operand, Workload
from .candidate import SearchOutcome
from .latency import TileTimer
from .options import FlexerOptions
from .search.search import Search
from .site import Site, site_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvLayer:
    """A convolution.

    Attributes:
        name: Its name.
        height: Input rows.
        width: Input columns.
        C: Input channels of one group.
        K: Output channels of one group.
        R: Filter height.
        S: Filter width.
        stride: Vertical and horizontal step.
        dilation: Vertical and horizontal distance of taps.
        pads: Padding at top, left, bottom, right.
        groups: Groups.
        batch: Images.
    """

    name: str
    height: int
    width: int
    C: int
    K: int
    R: int = 1
    S: int = 1
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    groups: int = 1
    batch: int = 1


def layer_of(name: str, workload: Workload) -> ConvLayer:
    """Return a layer that computes a workload; without padding, for a workload tells none."""
    return ConvLayer(
        name=name,
        height=(workload.P - 1) * workload.stride[0] + (workload.R - 1) * workload.dilation[0] + 1,
        width=(workload.Q - 1) * workload.stride[1] + (workload.S - 1) * workload.dilation[1] + 1,
        C=workload.C,
        K=workload.K,
        R=workload.R,
        S=workload.S,
        stride=workload.stride,
        dilation=workload.dilation,
        groups=workload.G,
        batch=workload.N,
    )


def layer_site(layer: ConvLayer, arch: Architecture) -> Site:
    """Return a layer that has the whole scratchpad as workspace and streams everything."""
    graph = _graph(layer, arch.precision is Precision.INT8)
    capacity = arch.scratchpad_level.usable or 0
    if arch.scratchpad_level.double_buffered:
        capacity *= 2
    plan = GraphSchedule(
        budget=capacity,
        order=("y",),
        workspaces=(Workspace(step=0, address=0, bytes=capacity),),
        streams=tuple(
            Stream(tensor=name, step=0, bytes=graph.types[name].bytes) for name in ("x", "y")
        ),
    )
    return site_of(graph, plan, graph.producer["y"], arch)


def _graph(layer: ConvLayer, is_integer: bool) -> Graph:
    quant = Quantization((1.0,), (0,)) if is_integer else None
    dtype = DType.S8 if is_integer else DType.F32
    channels = layer.C * layer.groups
    x = Value("x", TensorType(dtype, (layer.batch, channels, layer.height, layer.width), quant))
    w = Value("w", TensorType(dtype, (layer.K * layer.groups, layer.C, layer.R, layer.S), quant))
    b_type = DType.S32 if is_integer else DType.F32
    b = Value("b", TensorType(b_type, (layer.K * layer.groups,)))
    op = make_op(
        "conv2d",
        ("x", "w", "b"),
        {value.name: value.type for value in (x, w, b)},
        "y",
        attrs={
            "stride": layer.stride,
            "pads": layer.pads,
            "dilation": layer.dilation,
            "groups": layer.groups,
        },
        dtype=dtype if is_integer else None,
        quant=quant,
    )
    return Graph(name=layer.name, inputs=(x,), constants=(w, b), ops=(op,), outputs=("y",))


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerRow:
    """One layer under one scheduler, as ``acc-map`` prints it.

    Attributes:
        layer: Name of the layer.
        scheduler: ``static`` or ``flexer``.
        cycles: Makespan [cycle].
        transferred_bytes: Between off-chip memory and the chip [byte].
        cycles_lower_bound: No schedule of the layer is faster [cycle].
        cpu_seconds: Of the search; ``flexer`` includes that for the best static order [s].
    """

    layer: str
    scheduler: str
    cycles: int
    transferred_bytes: int
    cycles_lower_bound: int
    cpu_seconds: float


def schedule_layer(
    layer: ConvLayer, arch: Architecture, options: FlexerOptions, timer: TileTimer | None = None
) -> SearchOutcome:
    """Return the best static and the best schedule of a layer.

    Args:
        layer: The layer.
        arch: The machine; its scratchpad holds weights.
        options: Of the search.
        timer: Tile times that are already known.
    """
    return Search(layer_site(layer, arch), options, timer or TileTimer(arch)).run()


def layer_rows(
    name: str,
    workload: Workload,
    arch: Architecture,
    schedulers: Sequence[str],
    options: FlexerOptions | None = None,
) -> tuple[LayerRow, ...]:
    """Return one row per scheduler (``static``, ``flexer``) for a layer.

    Args:
        name: Of the layer.
        workload: The layer.
        arch: The machine.
        schedulers: Their names.
        options: Of Flexer.

    Raises:
        OptionError: There is no such scheduler, or the machine's weights go around its scratchpad.
    """
    if Operand.W not in arch.scratchpad_level.holds:
        raise OptionError(
            f"{arch.name} keeps weights out of its scratchpad",
            hint="tile schedulers are compared on machines like flexer-arch5",
        )
    chosen_options = options or FlexerOptions()
    if "flexer" not in schedulers:
        chosen_options = replace(chosen_options, steps=0, block_orders=0)
    found = schedule_layer(layer_of(name, workload), arch, chosen_options)
    effort = found.effort
    chosen = {
        "static": (found.static, effort.static_seconds),
        "flexer": (found.best, effort.cpu_seconds),
    }
    unknown = [name for name in schedulers if name not in chosen]
    if unknown:
        raise OptionError(
            f"no tile scheduler named {unknown[0]!r}", hint=suggest(unknown[0], chosen)
        )
    return tuple(
        LayerRow(
            layer=name,
            scheduler=scheduler,
            cycles=chosen[scheduler][0].cycles,
            transferred_bytes=chosen[scheduler][0].bytes,
            cycles_lower_bound=found.bound.cycles,
            cpu_seconds=chosen[scheduler][1],
        )
        for scheduler in schedulers
    )
