"""Hypothesis strategies for values of the IR: arbitrary ones of every stage, and valid graphs."""

import dataclasses
import types
import typing
from enum import Enum

import numpy as np
from hypothesis import strategies as st

from accnn.ir.graph import Graph, Op, Value, sorted_attrs
from accnn.ir.mapping import Allocation, Loop, LoopNest, SpatialLoop
from accnn.ir.module import Mapping, Module
from accnn.ir.ops import make_op
from accnn.ir.resources import numpy_dtype
from accnn.ir.types import DType, Quantization, TensorType
from accnn.ir.workload import Dim, Operand, Workload

TEXT = st.one_of(
    st.sampled_from(["x", "conv1.weight", "/layer1/Conv_output_0", "none", "table", "for", "a b"]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
)
INTEGERS = st.integers(-(2**40), 2**40)
FLOATS = st.floats(allow_nan=False)


def arrays(types, seed=0):
    """Random data for (name, type) pairs; integers are small."""
    rng = np.random.default_rng(seed)
    return {
        name: (
            rng.standard_normal(found.shape).astype(np.float32)
            if found.dtype is DType.F32
            else rng.integers(-9, 9, found.shape, numpy_dtype(found.dtype))
        )
        for name, found in types
    }


# Arbitrary values ----------------------------------------------------------------------------


def values(hint):
    """Arbitrary values of an annotation: any structure, no invariants."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return st.one_of([values(item) for item in arguments])
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return st.lists(values(arguments[0]), max_size=2).map(tuple)
        return st.tuples(*map(values, arguments))
    if hint is types.NoneType:
        return st.none()
    if hint is TensorType:
        return tensor_types()
    if dataclasses.is_dataclass(hint):
        return st.deferred(lambda: fields_of(hint))
    if isinstance(hint, type) and issubclass(hint, tuple):
        hints = typing.get_type_hints(hint)
        return st.builds(hint, **{name: values(item) for name, item in hints.items()})
    if isinstance(hint, type) and issubclass(hint, Enum):
        return st.sampled_from(list(hint))
    return {bool: st.booleans(), int: INTEGERS, float: FLOATS, str: TEXT}[hint]


def fields_of(kind):
    """Arbitrary dataclasses; about half of their optional fields keep the default."""
    hints = typing.get_type_hints(kind)
    given = {}
    for item in dataclasses.fields(kind):
        drawn = values(hints[item.name])
        if item.default is not dataclasses.MISSING:
            drawn = st.one_of(st.just(item.default), drawn)
        given[item.name] = drawn
    return st.builds(kind, **given)


@st.composite
def tensor_types(draw):
    """Types with and without quantisation, of any shape."""
    shape = tuple(draw(st.lists(st.integers(1, 3000), max_size=4)))
    quant = None
    if draw(st.booleans()):
        count = draw(st.integers(1, 4))
        scales = draw(
            st.lists(st.floats(width=32, allow_nan=False), min_size=count, max_size=count)
        )
        zeros = draw(st.lists(st.integers(-128, 255), min_size=count, max_size=count))
        quant = Quantization(tuple(scales), tuple(zeros), draw(st.none() | st.integers(0, 3)))
    return TensorType(draw(st.sampled_from(DType)), shape, quant)


ATTRS = st.one_of(
    st.booleans(),
    INTEGERS,
    FLOATS,
    TEXT,
    *(st.lists(item, max_size=3).map(tuple) for item in (INTEGERS, FLOATS, TEXT)),
)


@st.composite
def any_graphs(draw):
    """Graphs that print, but break every rule of the operators."""
    value = st.builds(Value, TEXT, tensor_types())
    op = st.builds(
        Op,
        kind=TEXT,
        operands=st.lists(TEXT, max_size=3).map(tuple),
        results=st.lists(value, min_size=1, max_size=2).map(tuple),
        attrs=st.dictionaries(TEXT, ATTRS, max_size=3).map(
            lambda found: sorted_attrs(found.items())
        ),
        loc=TEXT,
    )
    several = st.lists(value, max_size=2).map(tuple)
    return Graph(
        name=draw(TEXT),
        inputs=draw(several),
        constants=draw(several),
        ops=tuple(draw(st.lists(op, max_size=3))),
        outputs=tuple(draw(st.lists(TEXT, max_size=2))),
    )


@st.composite
def any_mappings(draw):
    """Mappings with any loops and allocations; starts lie within the nest."""
    temporal = tuple(draw(st.lists(st.builds(Loop, st.sampled_from(Dim), INTEGERS), max_size=5)))
    allocation = st.builds(
        Allocation, st.sampled_from(Operand), TEXT, st.integers(0, len(temporal))
    )
    nest = LoopNest(
        workload=draw(fields_of(Workload)),
        temporal=temporal,
        spatial=tuple(draw(st.lists(fields_of(SpatialLoop), max_size=3))),
        allocations=tuple(draw(st.lists(allocation, max_size=6))),
    )
    return dataclasses.replace(draw(fields_of(Mapping)), nest=nest)


def any_modules(**stages):
    """Modules with an arbitrary graph, and arbitrary values of the stages that are named.

    Args:
        stages: A strategy per field of ``Module``.
    """
    return st.builds(Module, **{"graph": any_graphs(), **stages})


# Valid graphs --------------------------------------------------------------------------------


@st.composite
def graphs(draw, dtype=None):
    """Valid networks of a few operators on small images, float or quantised.

    Args:
        draw: Given by Hypothesis.
        dtype: Element type of the activations; either if ``None``.
    """
    dtype = dtype or draw(st.sampled_from((DType.F32, DType.S8)))
    build = _Network(draw, dtype)
    for _ in range(draw(st.integers(1, 6))):
        build.grow()
    return build.finish()


class _Network:
    """A graph in the making; every result may be read again, so there are branches."""

    def __init__(self, draw, dtype):
        self.draw = draw
        self.dtype = dtype
        size, channels = draw(st.integers(3, 6)), draw(st.integers(1, 4))
        self.inputs = (Value("x", TensorType(dtype, (1, channels, size, size), self.quant())),)
        self.types = {"x": self.inputs[0].type}
        self.constants = []
        self.weights = set()
        self.ops = []

    def quant(self):
        if self.dtype is DType.F32:
            return None
        return Quantization((self.draw(st.sampled_from((0.5, 0.1, 0.0123))),), (3,))

    def grow(self):
        source = self.draw(st.sampled_from(sorted(self.images())))
        kinds = ["conv2d", "add", "max_pool", "reshape", "transpose"]
        if self.dtype is DType.F32:
            kinds += ["relu", "clip", "leaky_relu", "sigmoid"]
        getattr(self, self.draw(st.sampled_from(kinds)))(source)

    def images(self):
        names = ("x", *(op.name for op in self.ops))
        return [name for name in names if name not in self.weights]

    def constant(self, shape, dtype, quant):
        name = f"w{len(self.constants)}"
        self.constants.append(Value(name, TensorType(dtype, shape, quant)))
        self.types[name] = self.constants[-1].type
        return name

    def emit(self, kind, *operands, attrs=None, dtype=None, quant=None):
        op = make_op(
            kind,
            operands,
            self.types,
            f"y{len(self.ops)}",
            attrs=attrs,
            dtype=dtype,
            quant=quant,
        )
        self.ops.append(op)
        self.types[op.name] = op.result.type
        return op.name

    def conv2d(self, source):
        taps, channels = self.draw(st.sampled_from((1, 3))), self.draw(st.integers(1, 4))
        weights = None
        if self.dtype is not DType.F32:
            weights = Quantization((0.25,) * channels, (0,) * channels, 0)
        shape = (channels, self.types[source].shape[1], taps, taps)
        weight = self.constant(shape, self.dtype, weights)
        if self.draw(st.booleans()):
            weight = self.emit("transpose", weight, attrs={"perm": (0, 1, 3, 2)})
            self.weights.add(weight)
        pad = taps // 2
        attrs = {"pads": (pad, pad, pad, pad), "stride": (1, 1)}
        self.emit("conv2d", source, weight, attrs=attrs, dtype=self.dtype, quant=self.quant())

    def add(self, source):
        same = [
            name for name in self.images() if self.types[name].shape == self.types[source].shape
        ]
        other = self.draw(st.sampled_from(same))
        self.emit("add", source, other, dtype=self.dtype, quant=self.quant())

    def max_pool(self, source):
        self.emit("max_pool", source, attrs={"kernel": (1, 1), "stride": (2, 2)})

    def reshape(self, source):
        shape = self.types[source].shape
        flat = (shape[0], shape[1], shape[2] * shape[3], 1)
        self.emit("reshape", source, attrs={"shape": self.draw(st.sampled_from((shape, flat)))})

    def transpose(self, source):
        perm = self.draw(st.sampled_from(((0, 1, 2, 3), (0, 1, 3, 2))))
        self.emit("transpose", source, attrs={"perm": perm})

    def relu(self, source):
        self.emit("relu", source)

    def clip(self, source):
        self.emit("clip", source, attrs={"lo": 0.0, "hi": 6.0})

    def leaky_relu(self, source):
        self.emit("leaky_relu", source, attrs={"alpha": 0.125})

    def sigmoid(self, source):
        self.emit("sigmoid", source)

    def finish(self):
        names = [op.name for op in self.ops if op.name not in self.weights]
        outputs = self.draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True))
        return Graph(
            name="net",
            inputs=self.inputs,
            constants=tuple(self.constants),
            ops=tuple(self.ops),
            outputs=tuple(outputs),
        )
