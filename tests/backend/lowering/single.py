"""Networks of one operator, compiled for machines whose scratchpad is too small for it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from accnn.compiler.verification.observe import symbol_of
from accnn.compiler.verification.verify import compare, own_tolerance
from accnn.ir.errors import InfeasibleError
from accnn.ir.graph import Attr, Graph, Value
from accnn.ir.ops import make_op
from accnn.ir.resources import numpy_dtype
from accnn.ir.types import DType, Quantization, TensorType
from tests.flow import compile_graph
from tests.inputs import Array
from tests.networks import per_tensor

Constant = tuple[TensorType, Array]
"""A constant's type and its values."""


def s8(*shape: int, scale: float = 0.05, zero: int = -3) -> TensorType:
    """Return the type of quantised integers."""
    return TensorType(DType.S8, shape, per_tensor(scale, zero))


def f32(*shape: int) -> TensorType:
    """Return the type of floats."""
    return TensorType(DType.F32, shape)


@dataclass(frozen=True)
class Single:
    """An operator: its first operands are inputs, the others constants.

    Attributes:
        name: Of the case.
        kind: Of the operator.
        inputs: Types of what the network is given.
        constants: Values of the others, with their types.
        attrs: Attributes.
        dtype: Element type of the result, see ``make_op``.
        quant: Its quantisation.
    """

    name: str
    kind: str
    inputs: tuple[TensorType, ...]
    constants: tuple[Constant, ...] = ()
    attrs: Mapping[str, Attr] = field(default_factory=dict[str, Attr])
    dtype: DType | None = None
    quant: Quantization | None = None

    def __str__(self) -> str:
        return self.name

    @property
    def graph(self) -> Graph:
        """The network."""
        inputs = [Value(f"x{at}", type) for at, type in enumerate(self.inputs)]
        constants = [Value(f"c{at}", type) for at, (type, _) in enumerate(self.constants)]
        types = {value.name: value.type for value in (*inputs, *constants)}
        op = make_op(
            self.kind,
            tuple(types),
            types,
            "y",
            attrs=self.attrs,
            dtype=self.dtype,
            quant=self.quant,
        )
        return Graph(
            name="single",
            inputs=tuple(inputs),
            constants=tuple(constants),
            ops=(op,),
            outputs=("y",),
        )

    @property
    def data(self) -> dict[str, Array]:
        """Values of the constants."""
        return {f"c{at}": array for at, (_, array) in enumerate(self.constants)}


def drawn(type: TensorType, seed: int, low: int = -100, high: int = 100) -> Constant:
    """Return a constant of random numbers."""
    rng = np.random.default_rng(seed)
    kind = numpy_dtype(type.dtype)
    if type.dtype.is_integer:
        return type, rng.integers(low, high + 1, type.shape).astype(kind)
    return type, rng.standard_normal(type.shape).astype(kind)


def assert_right(case: Single, arch: str, budget: int | None, *, tiles: str = "static") -> bool:
    """Compile, look for races and compare every element; return whether the operator fits.

    Floats that are added in another order may differ as far as the verdict on networks lets them.
    """
    try:
        compiled = compile_graph(case.graph, case.data, arch, budget=budget, tiles=tiles)
    except InfeasibleError:
        assert budget is not None
        return False
    result = compiled.run(detect_races=True)
    symbol = symbol_of(compiled.program, "y")
    assert symbol is not None
    allowed = own_tolerance(case.graph.producer["y"])
    check = compare(result.tensor(symbol), compiled.expected["y"], "y", tolerance=allowed)
    assert check.mismatches == 0, (case.name, budget)
    return True
