"""Build graphs that consist of shapes alone: no weights, no quantisation, 8 bits per element.

What counts as one operator: a convolution or matrix product with the normalisation and the
ReLU-like clamp that follow it; every other function (softmax, GELU, swish, layer norm, sigmoid,
pooling, addition, concatenation) stands alone; changes of shape that move nothing do not count.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ...ir.graph import Attr, Graph, Op, Value, sorted_attrs
from ...ir.types import DType, TensorType


@dataclass(slots=True)
class GraphBuilder:
    """Grows a graph one operator at a time; tensors are named by what makes them.

    Attributes:
        name: Name of the network.
    """

    name: str
    _inputs: list[Value] = field(default_factory=list[Value])
    _constants: list[Value] = field(default_factory=list[Value])
    _ops: list[Op] = field(default_factory=list[Op])
    _shapes: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])

    def input(self, name: str, *shape: int) -> str:
        """Add a network input."""
        self._inputs.append(self._value(name, shape))
        return name

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the extents of a tensor."""
        return self._shapes[name]

    def op(
        self,
        kind: str,
        operands: Sequence[str],
        shape: Sequence[int],
        *,
        weights: Sequence[Sequence[int]] = (),
        attrs: Sequence[tuple[str, Attr]] = (),
    ) -> str:
        """Add an operator and return the name of its result.

        Args:
            kind: What it does.
            operands: Activations that it reads.
            shape: Extents of its result.
            weights: Extents of the parameters that it owns.
            attrs: Its attributes.
        """
        result = f"{kind}_{len(self._ops)}"
        names = [f"{result}.{index}" for index in range(len(weights))]
        self._constants += [
            self._value(name, extents) for name, extents in zip(names, weights, strict=True)
        ]
        self._ops.append(
            Op(
                kind=kind,
                operands=(*operands, *names),
                results=(self._value(result, shape),),
                attrs=sorted_attrs(attrs),
            )
        )
        return result

    def conv(
        self,
        x: str,
        K: int,
        kernel: int | tuple[int, int] = 1,
        *,
        stride: int = 1,
        dilation: int = 1,
        groups: int = 1,
        pad: int | tuple[int, int] | None = None,
    ) -> str:
        """Add a 2-d convolution with what is fused into it; ``pad=None`` keeps the extents.

        Args:
            x: The input.
            K: Output channels.
            kernel: Height and width of the filter [tap].
            stride: Step in both directions [element].
            dilation: Distance of the taps [element].
            groups: Groups of channels.
            pad: Padding on each side [element]; ``None`` keeps the extents.
        """
        N, C, H, W = self._shapes[x]
        R, S = (kernel, kernel) if isinstance(kernel, int) else kernel
        default = ((R - 1) * dilation // 2, (S - 1) * dilation // 2)
        top, left = default if pad is None else (pad, pad) if isinstance(pad, int) else pad
        P = (H + 2 * top - (R - 1) * dilation - 1) // stride + 1
        Q = (W + 2 * left - (S - 1) * dilation - 1) // stride + 1
        attrs: list[tuple[str, Attr]] = [
            ("stride", (stride, stride)),
            ("pads", (top, left, top, left)),
            ("dilation", (dilation, dilation)),
            ("groups", groups),
        ]
        weights = ((K, C // groups, R, S), (K,))
        return self.op("conv2d", [x], (N, K, P, Q), weights=weights, attrs=attrs)

    def pool(
        self,
        x: str,
        kernel: int,
        *,
        stride: int = 1,
        pad: int = 0,
        kind: str = "max_pool",
    ) -> str:
        """Add a pooling window.

        Args:
            x: The input.
            kernel: Height and width of the window [tap].
            stride: Step in both directions [element].
            pad: Padding on each side [element].
            kind: Kind of the operator.
        """
        N, C, H, W = self._shapes[x]
        P, Q = ((extent + 2 * pad - kernel) // stride + 1 for extent in (H, W))
        return self.op(kind, [x], (N, C, P, Q))

    def unary(self, kind: str, x: str) -> str:
        """Add a function of each element, or of each row."""
        return self.op(kind, [x], self._shapes[x])

    def add(self, first: str, second: str) -> str:
        """Add two tensors; the result has the first one's extents."""
        return self.op("add", [first, second], self._shapes[first])

    def mul(self, first: str, second: str) -> str:
        """Multiply two tensors; the result has the first one's extents."""
        return self.op("mul", [first, second], self._shapes[first])

    def concat(self, *xs: str) -> str:
        """Concatenate along the channels (axis 1)."""
        first, *rest = (self._shapes[x] for x in xs)
        channels = first[1] + sum(shape[1] for shape in rest)
        shape = (first[0], channels, *first[2:])
        return self.op("concat", xs, shape, attrs=[("axis", 1)])

    def mean(self, x: str) -> str:
        """Average over everything but batch and channels."""
        shape = self._shapes[x]
        return self.op("global_avg_pool", [x], (*shape[:2], *(1 for _ in shape[2:])))

    def linear(self, x: str, K: int) -> str:
        """Multiply the last axis by a matrix of ``K`` columns."""
        shape = self._shapes[x]
        return self.op("linear", [x], (*shape[:-1], K), weights=((K, shape[-1]), (K,)))

    def classifier(self, x: str, K: int) -> str:
        """Average over the image and apply a linear layer."""
        pooled = self.mean(x)
        N, C = self._shapes[pooled][:2]
        return self.op("linear", [pooled], (N, K), weights=((K, C), (K,)))

    def finish(self, *outputs: str) -> Graph:
        """Return the graph."""
        graph = Graph(
            name=self.name,
            inputs=tuple(self._inputs),
            constants=tuple(self._constants),
            ops=tuple(self._ops),
            outputs=outputs,
        )
        graph.verify()
        return graph

    def _value(self, name: str, shape: Sequence[int]) -> Value:
        self._shapes[name] = tuple(shape)
        return Value(name, TensorType(DType.U8, tuple(shape)))
