"""How far rounding alone carries a network's outputs.

    y = (x - mean(x)) / sqrt(var(x) + eps)      of numbers that are all equal: nothing but rounding

Where nearly equal numbers are subtracted, or what is nearly 0 divides, two ways to compute the same
differ by much more than the few steps by which each operator rounds. How much is seen by computing
the network again while every operator that rounds is off by some steps, at random, and so is each
number that it adds up: outputs of a network that is well conditioned hardly move, and a fault moves
them by more than that.

References:
    Parker: Monte Carlo Arithmetic: exploiting randomness in floating-point arithmetic. UCLA
    CSD-970002, 1997.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ...ir.graph import Graph, Op
from ...ir.operators.elementary import Array
from ...ir.operators.spec import Family, Rounding
from ...ir.ops import spec_of
from ...runtime_sim.reference.run import run_op
from .verify import FOUR_STEPS

_TRIALS = 4

_SEED = 5

_ADDS = frozenset({Family.MAC, Family.REDUCTION, Family.POOL})
"""Operators that add numbers up: what their sums are on the way is rounded, too."""


def carried(
    graph: Graph, ops: Sequence[Op], exact: Mapping[str, Array], names: Iterable[str]
) -> Mapping[str, float]:
    """Return by how much tensors moved at most while operators rounded differently.

    Integers are what they are without: where a rounded float becomes one, nothing is carried on.

    Args:
        graph: The network.
        ops: Those of its operators that round differently, in order.
        exact: What they read and make, by name.
        names: Of the tensors.
    """
    moved = dict.fromkeys(names, 0.0)
    for trial in range(_TRIALS if moved else 0):
        other = _disturbed(graph, ops, exact, np.random.default_rng((_SEED, trial)))
        for name in moved:
            moved[name] = max(moved[name], _distance(other[name], exact[name]))
    return moved


def _disturbed(
    graph: Graph, ops: Sequence[Op], exact: Mapping[str, Array], rng: np.random.Generator
) -> Mapping[str, Array]:
    """Return all tensors of a network whose operators are off, its integers as they were."""
    tensors = dict(exact)
    for op in ops:
        if op.result.type.dtype.is_integer:
            continue
        read = {name: tensors[name] for name in op.inputs}
        if _rounds(op) and spec_of(op).family in _ADDS:
            read = {name: _off(found, rng) for name, found in read.items()}
        made = run_op(op, graph.types, read)
        tensors[op.name] = _off(made, rng) if _rounds(op) else made
    return tensors


def _rounds(op: Op) -> bool:
    return spec_of(op).rounding is Rounding.ROUNDS


def _off(found: Array, rng: np.random.Generator) -> Array:
    """Return floats that are off by some steps of float32; integers as they are."""
    if not np.issubdtype(found.dtype, np.floating):
        return found
    factors = 1.0 + FOUR_STEPS * rng.uniform(-1.0, 1.0, found.shape)
    return (found.astype(np.float64) * factors).astype(found.dtype)


def _distance(found: Array, exact: Array) -> float:
    """Return how far finite numbers are apart at most."""
    both = np.isfinite(found) & np.isfinite(exact)
    apart = found[both].astype(np.float64) - exact[both].astype(np.float64)
    return float(np.max(np.abs(apart), initial=0.0))
