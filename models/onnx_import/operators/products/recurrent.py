"""Import of ``RNN``, ``GRU`` and ``LSTM``: unrolled, one product over all steps for the inputs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .....ir.graph import Attr
from .....ir.operators.elementary import Array
from .....ir.types import DType
from ...arguments import constant_input
from ...builder import Builder
from ...node import Node
from ..chain import Chain

Step = Callable[[str], str]

_NUMBERS: dict[str, tuple[tuple[str, float], ...]] = {
    "Relu": (),
    "Tanh": (),
    "Sigmoid": (),
    "Softsign": (),
    "Softplus": (),
    "LeakyRelu": (("alpha", 0.01),),
    "ThresholdedRelu": (("alpha", 1.0),),
    "Elu": (("alpha", 1.0),),
    "HardSigmoid": (("alpha", 0.2), ("beta", 0.5)),
}
"""Functions that a recurrent operator may apply, with the defaults of their numbers."""

_GATE_FUNCTIONS = 2
"""Functions whose operand ``clip`` limits; as in onnxruntime not what an LSTM shows of its cell."""

_KINDS = {
    "Relu": "relu",
    "Tanh": "tanh",
    "Sigmoid": "sigmoid",
    "Softsign": "softsign",
    "Softplus": "softplus",
    "LeakyRelu": "leaky_relu",
    "ThresholdedRelu": "thresholded_relu",
    "Elu": "elu",
    "HardSigmoid": "hard_sigmoid",
}


@dataclass(frozen=True, slots=True)
class _Cell:
    """What the operators differ in.

    Attributes:
        gates: How many rows of weights a unit has.
        defaults: The functions that it applies.
        step: From the cell's direction, the inputs' share of the gates ``[B, gates * H]`` and the
            states to the new states; the first is the output.
        states: How many states there are, each ``[B, H]``.
    """

    gates: int
    defaults: tuple[str, ...]
    step: Callable[["_Direction", str, tuple[str, ...]], tuple[str, ...]]
    states: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Direction:
    """One direction of a recurrent operator.

    Attributes:
        chain: Where operators are added.
        units: Extent ``H`` of a state.
        weights: Of the state, ``[gates * H, H]``.
        bias: What is added to the state's products, ``[gates * H]``; ``""``: nothing.
        peepholes: Factors of the state of an LSTM cell for its gates i, o and f; may be empty.
        functions: What it applies.
    """

    chain: Chain
    units: int
    weights: str
    bias: str
    peepholes: tuple[str, ...]
    functions: tuple[Step, ...]

    def gate(self, value: str, number: int) -> str:
        """Return the part ``[B, H]`` of what is computed for all gates."""
        return self.chain.slice(value, 1, number * self.units, self.units)

    def product(self, state: str, first: int, count: int) -> str:
        """Return the state's product with the weights of some gates, ``[B, count * H]``."""
        at, size = first * self.units, count * self.units
        operands = [state, self.chain.slice(self.weights, 0, at, size)]
        if self.bias:
            operands.append(self.chain.slice(self.bias, 0, at, size))
        return self.chain("dense", *operands)

    def peep(self, total: str, number: int, state: str) -> str:
        """Return a gate's sum with what it sees of the cell's state."""
        if not self.peepholes:
            return total
        return self.chain("add", total, self.chain("mul", state, self.peepholes[number]))


def _rnn_step(at: _Direction, inputs: str, states: tuple[str, ...]) -> tuple[str, ...]:
    (f,) = at.functions
    return (f(at.chain("add", inputs, at.product(states[0], 0, 1))),)


def _gru_step(at: _Direction, inputs: str, states: tuple[str, ...]) -> tuple[str, ...]:
    chain, (f, g), (state,) = at.chain, at.functions, states
    both = at.product(state, 0, 2)
    update = f(chain("add", at.gate(inputs, 0), at.gate(both, 0)))
    reset = f(chain("add", at.gate(inputs, 1), at.gate(both, 1)))
    if chain.node.int("linear_before_reset", 0):
        seen = chain("mul", reset, at.product(state, 2, 1))
    else:
        seen = at.product(chain("mul", reset, state), 2, 1)
    hidden = g(chain("add", at.gate(inputs, 2), seen))
    rest = chain("sub", chain.constant(1.0), update)
    return (chain("add", chain("mul", rest, hidden), chain("mul", update, state)),)


def _lstm_step(at: _Direction, inputs: str, states: tuple[str, ...]) -> tuple[str, ...]:
    chain, (f, g, h), (state, cell) = at.chain, at.functions, states
    total = chain("add", inputs, at.product(state, 0, 4))
    enter = f(at.peep(at.gate(total, 0), 0, cell))
    if chain.node.int("input_forget", 0):
        keep = chain("sub", chain.constant(1.0), enter)
    else:
        keep = f(at.peep(at.gate(total, 2), 2, cell))
    new = g(at.gate(total, 3))
    cell = chain("add", chain("mul", keep, cell), chain("mul", enter, new))
    leave = f(at.peep(at.gate(total, 1), 1, cell))
    return chain("mul", leave, h(cell)), cell


_RNN = _Cell(gates=1, defaults=("Tanh",), step=_rnn_step)
_GRU = _Cell(gates=3, defaults=("Sigmoid", "Tanh"), step=_gru_step)
_LSTM = _Cell(gates=4, defaults=("Sigmoid", "Tanh", "Tanh"), step=_lstm_step, states=2)


def rnn(node: Node, b: Builder) -> None:
    """``RNN``."""
    _run(node, b, _RNN)


def gru(node: Node, b: Builder) -> None:
    """``GRU``."""
    _run(node, b, _GRU)


def lstm(node: Node, b: Builder) -> None:
    """``LSTM``, with peepholes or without."""
    _run(node, b, _LSTM)


def _run(node: Node, b: Builder, cell: _Cell) -> None:
    chain, x = Chain(node, b), b.value(node.input(0))
    by_batch = node.int("layout", 0) == 1
    if by_batch:
        x = chain.transpose(x, (1, 0, 2))
    names = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
    found = node.str("direction", "forward")
    if found not in names:
        raise node.refusal(f"has direction = {found!r}")
    ran = [_along(chain, cell, x, d, back) for d, back in enumerate(names[found])]
    steps = [_joined(chain, [rows[t] for rows, _ in ran], 0) for t in range(len(ran[0][0]))]
    whole = chain.reshape(_joined(chain, steps, 0), (len(steps), *chain.shape(steps[0])))
    lasts = [_joined(chain, [last[s] for _, last in ran], 0) for s in range(cell.states)]
    orders = ((2, 0, 1, 3), (1, 0, 2), (1, 0, 2))
    for number, value in enumerate((whole, *lasts)):
        if any(node.outputs[number : number + 1]):
            value = chain.transpose(value, orders[number]) if by_batch else value
            chain.bind(value, number)


def _joined(chain: Chain, values: Sequence[str], axis: int) -> str:
    return values[0] if len(values) == 1 else chain("concat", *values, axis=axis)


def _along(
    chain: Chain, cell: _Cell, x: str, d: int, back: bool
) -> tuple[list[str], tuple[str, ...]]:
    """Return the output of every step, and the last states, each ``[1, B, H]``.

    Args:
        chain: Where operators are added.
        cell: What is done in a step.
        x: The inputs ``[T, B, I]``.
        d: Number of the direction.
        back: Whether the last step comes first.
    """
    T, B, features = chain.shape(x)
    at, share = _direction(chain, cell, d)
    rows = chain("dense", chain.reshape(x, (T * B, features)), *share)
    states = tuple(_first(chain, 5 + number, d, (B, at.units)) for number in range(cell.states))
    lengths = _lengths(chain, T, B)
    outputs = [""] * T
    for t in reversed(range(T)) if back else range(T):
        before = chain.b.op_count
        new = cell.step(at, chain.slice(rows, 0, t * B, B), states)
        output = new[0]
        if lengths is not None and (lengths <= t).any():
            runs = chain.constant((lengths > t)[:, None], DType.BOOL)
            output = chain("where", runs, output, chain.constant(0.0), dtype=DType.F32)
            new = tuple(
                chain("where", runs, late, early, dtype=DType.F32)
                for late, early in zip(new, states, strict=True)
            )
        outputs[t], states = chain.reshape(output, (1, B, at.units)), new
        chain.b.count_unrolled(chain.node, chain.b.op_count - before)
    return outputs, tuple(chain.reshape(state, (1, B, at.units)) for state in states)


def _direction(chain: Chain, cell: _Cell, d: int) -> tuple[_Direction, tuple[str, ...]]:
    """Return a direction, and weights and bias of the inputs' products."""
    node, weights = chain.node, _part(chain, 2, d)
    rows, units = chain.shape(weights)
    if rows != cell.gates * units:
        raise node.refusal(f"has weights {chain.shape(weights)} for {cell.gates} gates")
    outer, inner = [_part(chain, 1, d)], ""
    if node.has_input(3):
        both = _part(chain, 3, d)
        outer.append(chain.slice(both, 0, 0, rows))
        inner = chain.slice(both, 0, rows, rows)
    peepholes = tuple[str, ...]()
    if cell is _LSTM and node.has_input(7):
        given = _part(chain, 7, d)
        peepholes = tuple(chain.slice(given, 0, gate * units, units) for gate in range(3))
    at = _Direction(
        chain=chain,
        units=units,
        weights=weights,
        bias=inner,
        peepholes=peepholes,
        functions=tuple(_functions(chain, cell.defaults, d)),
    )
    return at, tuple(outer)


def _part(chain: Chain, index: int, d: int) -> str:
    """Return what an input holds for a direction; a constant is cut at once."""
    known = chain.b.numbers(chain.node.input(index))
    if known is not None:
        return chain.constant(known[d])
    value = chain.input(index)
    return chain.reshape(chain.slice(value, 0, d, 1), chain.shape(value)[1:])


def _first(chain: Chain, index: int, d: int, shape: tuple[int, int]) -> str:
    """Return the state before the first step."""
    if not chain.node.has_input(index):
        return chain.constant(np.zeros(shape))
    value, axis = chain.input(index), int(chain.node.int("layout", 0) == 1)
    return chain.reshape(chain.slice(value, axis, d, 1), shape)


def _lengths(chain: Chain, T: int, B: int) -> Array | None:
    """Return how many steps each sequence has, ``None`` if all have all."""
    if not chain.node.has_input(4):
        return None
    found = constant_input(chain.b, chain.node, 4, "length of sequences").reshape(-1)
    if found.shape != (B,) or found.min() < 0 or found.max() > T:
        raise chain.node.refusal(f"has lengths {found.tolist()} for {B} sequences of {T} steps")
    return found


def _functions(chain: Chain, defaults: tuple[str, ...], d: int) -> Iterator[Step]:
    """Yield the functions of a direction; their numbers are given in the order of functions."""
    node, count = chain.node, len(defaults)
    names = node.texts("activations") or defaults * (d + 1)
    given = {name: list(node.floats(f"activation_{name}")) for name in ("alpha", "beta")}
    limit = node.float("clip", 0.0)
    for number, name in enumerate(names):
        if name not in _KINDS:
            raise node.refusal(f"applies {name!r}; supported: {', '.join(_KINDS)}")
        attrs: dict[str, Attr] = {
            key: given[key].pop(0) if given[key] else default for key, default in _NUMBERS[name]
        }
        if number // count == d:
            is_gate = number % count < _GATE_FUNCTIONS
            yield _function(chain, _KINDS[name], attrs, limit if is_gate else 0.0)


def _function(chain: Chain, kind: str, attrs: dict[str, Attr], limit: float) -> Step:
    def run(value: str) -> str:
        if limit:
            value = chain("clip", value, lo=-limit, hi=limit)
        return chain.emit(kind, (value,), attrs)

    return run
