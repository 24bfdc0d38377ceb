"""Random networks of any operators."""

from collections.abc import Sequence

from onnx import ModelProto, NodeProto

from tests.end_to_end.random_onnx import Choose, Sketch, Tensor

from .axes import AXES
from .functions import FUNCTIONS
from .moves import MOVES
from .products import PRODUCTS
from .quantised import QUANTISED
from .step import MOST_ELEMENTS, Step, integers, reshaped

FLOAT_STEPS = (*FUNCTIONS, *AXES, *MOVES, *PRODUCTS)
STEPS = (*FLOAT_STEPS, *QUANTISED)
OPSETS = (13, 17, 18, 20, 21, 23, 24, 26)
_SHAPES = (
    *((5,), (3, 4), (12, 16), (1, 33), (2, 3, 7), (4, 1, 6), (1, 4, 20)),
    *((1, 4, 6, 6), (2, 3, 5, 7), (1, 8, 8, 12), (1, 2, 3, 4, 5)),
)


def any_network(choose: Choose, *, steps: int = 6, in_bytes: bool = True) -> ModelProto:
    """Return a float network of a few steps, of whatever operators there are.

    Args:
        choose: Makes every choice.
        steps: How many steps it has at most.
        in_bytes: Whether a machine that computes with bytes is to run it.
    """
    known = STEPS if in_bytes else FLOAT_STEPS
    net = Sketch(choose, opset=choose(OPSETS))
    x = net.input(*choose(_SHAPES))
    for _ in range(choose(range(1, steps + 1))):
        x = grown(net, x, known)
    if not computes(net.nodes):
        x = net.apply("Sigmoid", x)
    return net.model([x])


def grown(net: Sketch, x: Tensor, known: Sequence[Step]) -> Tensor:
    """Add a step that fits, after a smaller tensor where this one is too large for any."""
    if x.elements > MOST_ELEMENTS:
        x = net.apply("ReduceSum", x, integers(net, x.shape.index(max(x.shape))))
    if not x.shape:
        x = reshaped(net, x, 1)
    fitting = [step for step in known if step.fits(net, x)]
    return net.choose(fitting).run(net, x)


_NOTHING = frozenset(
    {"Constant", "Identity", "Dropout", "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten"}
)


def computes(nodes: list[NodeProto]) -> bool:
    """Whether anything is left of a network for a machine to do."""
    return any(node.op_type not in _NOTHING for node in nodes)
