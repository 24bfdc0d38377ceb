"""The tiles of an operator of the MAC array: which part of which tensor, in which memory.

The array sees weights as ``G K C R S``, inputs as ``N G C row column``, outputs as ``N G K P Q``: a
tile is a box of indices along these axes, with the strides that lead to its elements.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property

from ...ir.arch import Architecture
from ...ir.errors import InfeasibleError
from ...ir.graph import Graph, Op
from ...ir.isa.instructions import Space
from ...ir.operators.access import Box, whole
from ...ir.operators.image import AXES, ImageAxes, matrix_axes, rows_met
from ...ir.operators.views import SlidingWindow, window_of
from ...ir.tiles.graph import Range, Role, Tile, dense_strides, multiplier_name
from ...ir.workload import Dim, Operand, Workload
from .nest_cuts import Ranges
from .residency import Residency


@dataclass(frozen=True)
class MacTiler:
    """Makes the tiles of one operator.

    Attributes:
        graph: The network.
        op: The operator.
        workload: Its extents.
        psum_space: Where its accumulators lie.
        place: What is resident.
        arch: The machine.
        parameters: Largest parameter tile that may remain for the whole operator [byte].
    """

    graph: Graph
    op: Op
    workload: Workload
    psum_space: Space
    place: Residency
    arch: Architecture
    parameters: int

    @cached_property
    def is_dense(self) -> bool:
        """Whether the operator is a matrix product rather than a convolution."""
        return self.op.kind == "dense"

    @cached_property
    def window(self) -> SlidingWindow:
        """How the filter moves over the input."""
        if self.is_dense:
            return SlidingWindow(kernel=(1, 1))
        return window_of(self.op, (self.workload.R, self.workload.S))

    def axes(self, channels: Dim) -> ImageAxes:
        """Return how the array sees the input (``C``) or the output (``K``)."""
        name = self.op.operands[0] if channels is Dim.C else self.op.name
        batch = matrix_axes(self.op.kind, self.graph.types[name].shape)
        return ImageAxes(self.workload.dims[channels], batch)

    def weights(self, ranges: Ranges) -> Tile:
        """Return the weight tile ``G K C R S`` of index ranges."""
        dims = self.workload.dims
        shape = tuple(dims[dim] for dim in (Dim.G, Dim.K, Dim.C, Dim.R, Dim.S))
        box = tuple(ranges[dim] for dim in (Dim.G, Dim.K, Dim.C, Dim.R, Dim.S))
        name = self.op.operands[1]
        if Operand.W in self.arch.scratchpad_level.holds:
            return self._in_scratchpad(name, Role.W, dense_strides(shape), shape, box)
        return Tile(
            tensor=name,
            role=Role.W,
            view=dense_strides(shape),
            box=box,
            element_bytes=self.graph.types[name].dtype.bytes,
            space=Space.WB,
        )

    def inputs(self, ranges: Ranges) -> Tile:
        """Return the input tile ``N G C row column`` that index ranges read, clipped."""
        name = self.op.operands[0]
        view, shape = self._image(Dim.C)
        box = (
            ranges[Dim.N],
            ranges[Dim.G],
            ranges[Dim.C],
            rows_met(self.window, 0, ranges[Dim.P], ranges[Dim.R], shape[3]),
            rows_met(self.window, 1, ranges[Dim.Q], ranges[Dim.S], shape[4]),
        )
        return self._in_scratchpad(name, Role.I, view, shape, box)

    def outputs(self, ranges: Ranges) -> Tile:
        """Return the output tile ``N G K P Q`` of index ranges."""
        name = self.op.name
        view, shape = self._image(Dim.K)
        return self._in_scratchpad(name, Role.O, view, shape, self.output_box(ranges))

    def accumulators(self, ranges: Ranges) -> Tile:
        """Return the accumulator tile ``N G K P Q`` of index ranges."""
        _, shape = self._image(Dim.K)
        return Tile(
            tensor=self.op.name,
            role=Role.PSUM,
            view=dense_strides(shape),
            box=self.output_box(ranges),
            element_bytes=self.arch.accumulator_bytes,
            space=self.psum_space,
        )

    def parameter_tiles(self, groups: Range, channels: Range) -> tuple[Tile, ...]:
        """Return the bias and multiplier tiles ``G K`` that finishing some channels reads."""
        dims = self.workload.dims
        shape = (dims[Dim.G], dims[Dim.K])
        names = parameter_names(self.graph, self.op)
        fits = 4 * math.prod(shape) * len(names) <= self.parameters
        box = whole(shape) if fits else (groups, channels)
        return tuple(
            Tile(
                tensor=name,
                role=Role.PARAM,
                view=dense_strides(shape),
                box=box,
                element_bytes=4,
                space=Space.PB,
            )
            for name in names
        )

    def _in_scratchpad(
        self,
        name: str,
        role: Role,
        view: tuple[int, ...],
        shape: tuple[int, ...],
        box: tuple[Range, ...],
    ) -> Tile:
        address = self.place.addresses.get(name)
        return Tile(
            tensor=name,
            role=role,
            view=view,
            box=box if address is None else whole(shape),
            element_bytes=self.graph.types[name].dtype.bytes,
            space=Space.GB,
            address=address,
        )

    def output_box(self, ranges: Ranges) -> tuple[Range, ...]:
        """Return the box over ``N G K P Q`` of index ranges."""
        return ranges[Dim.N], ranges[Dim.G], ranges[Dim.K], ranges[Dim.P], ranges[Dim.Q]

    def _image(self, channels: Dim) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return strides and extents of the input (``C``) or the output (``K``) as the array sees.

        That is as ``N G channel row column``.
        """
        return self._input_image if channels is Dim.C else self._output_image

    @cached_property
    def _input_image(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return self._seen(self.op.operands[0], Dim.C)

    @cached_property
    def _output_image(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return self._seen(self.op.name, Dim.K)

    def _seen(self, name: str, channels: Dim) -> tuple[tuple[int, ...], tuple[int, ...]]:
        shape = self.graph.types[name].shape
        if self.is_dense:
            *batch, rows, columns = shape
            size, matrices = rows * columns, math.prod(batch)
            return (matrices * size, size, 1, columns, 1), (1, matrices, columns, rows, 1)
        dims = self.workload.dims
        seen = (shape[0], dims[Dim.G], dims[channels], shape[2], shape[3])
        return dense_strides(seen), seen


def own_box(op: Op, axes: ImageAxes, box: Box) -> Box:
    """Return a box over ``N G channel row column`` as one over the tensor's own axes.

    Args:
        op: The operator whose nest has the box.
        axes: How the array sees the tensor.
        box: The box.

    Raises:
        InfeasibleError: It has parts of the channels of several groups.
    """
    own = axes.own_box(box)
    if own is None:
        raise InfeasibleError(
            f"the nest of %{op.name} cuts the channels of several groups at once",
            hint="use another mapper, or --fuse off",
        )
    return own


def parameter_names(graph: Graph, op: Op) -> tuple[str, ...]:
    """Return the names of the tensors that finishing an operator reads: bias and multiplier.

    A quantised operator has one float32 multiplier per output channel; it is derived from the
    scales when the program is made and is no tensor of the graph.
    """
    bias = op.operands[2:3]
    is_integer = graph.types[op.operands[0]].dtype.is_integer
    names = tuple(name for name in bias if name)
    return (*names, multiplier_name(op.name)) if is_integer else names


def steps_of(inputs: Tile) -> tuple[int, int]:
    """Return how far apart the rows and columns are that a tile of inputs has."""
    return (inputs.box[3].step, inputs.box[4].step) if len(inputs.box) == AXES else (1, 1)


def in_steps(workload: Workload, inputs: Tile) -> Workload:
    """Return a workload whose window steps over the rows and columns that a tile of inputs has."""
    rows, columns = steps_of(inputs)
    (down, right), (below, beside) = workload.stride, workload.dilation
    return replace(
        workload,
        stride=(down // rows, right // columns),
        dilation=(max(1, below // rows), max(1, beside // columns)),
    )
