"""Judge a run section by section, where rounding makes one run of the whole no reference.

Two programs that add the same floats in another order differ in the last bits. Where such floats
are quantised inside of a network, one that lies next to a tie may become another integer, and what
is computed from it is another number then, and right. So the network is cut where rounded floats
become integers. onnxruntime runs all sections on what the program itself made of the sections
before, and is held to be right: integers must be the very same, floats within the tolerance of
their operators. What the program made of a float at a cut must be what quantising makes of a float
within that tolerance of onnxruntime's: the neighbour of a tie, but never another integer.

Other functions jump, too: of a float next to two, the remainder by two is nearly two or nothing. In
front of these a network is cut as well. The program's float must be within its tolerance there, and
onnxruntime goes on with that very float.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ...ir.graph import Graph, Op
from ...ir.operators.spec import Family
from ...ir.ops import spec_of
from ...ir.report import OutputCheck, Verification
from ...ir.types import DType
from ...models.sections import (
    given_name,
    in_sections,
    jumped_from,
    quantised_by,
    quantised_tensors,
)
from ..frontend import Network
from .verify import (
    EQUAL,
    FLOAT_TOLERANCE,
    Tolerance,
    compare,
    judged,
    reference_outputs,
    tolerances,
)

Array = npt.NDArray[np.generic]

_HALF_STEP = 0.5
_IN_FLOAT = frozenset({"ConvTranspose", "Einsum", "ReduceMean", "Sum"})
"""Nodes that onnxruntime runs in float where the compiler adds integers."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A tensor at which a network is cut.

    Attributes:
        name: The tensor in the graph, quantised or of floats.
        original: Its ONNX name.
        source: ONNX name of the float tensor that it is made of, or that it is.
        operand: That tensor in the graph; ``None`` where an operator makes integers at once.
    """

    name: str
    original: str
    source: str
    operand: str | None


def cuts(network: Network, graph: Graph) -> tuple[Cut, ...]:
    """Return where rounded floats become integers that operators read, and where functions jump.

    Args:
        network: What was compiled.
        graph: Its graph as the reference runs it.
    """
    return (*_cuts_at_integers(network, graph), *_cuts_at_jumps(network, graph))


def _cuts_at_jumps(network: Network, graph: Graph) -> tuple[Cut, ...]:
    """Return the rounded floats of which functions are taken that jump."""
    names, allowed = dict(network.imported.tensor_names), tolerances(graph)
    jumped = {names[original] for original in jumped_from(network.model) if original in names}
    return tuple(
        Cut(name=name, original=original, source=original, operand=name)
        for original, name in names.items()
        if name in jumped and allowed.get(name, EQUAL) != EQUAL
        if graph.types[name].dtype is DType.F32
    )


def _cuts_at_integers(network: Network, graph: Graph) -> tuple[Cut, ...]:
    sources = quantised_tensors(network.model)
    in_float = quantised_by(network.model, _IN_FLOAT)
    originals = {name: original for original, name in network.imported.tensor_names}
    allowed = tolerances(graph)
    return tuple(
        Cut(
            name=op.name,
            original=originals[op.name],
            source=sources[originals[op.name]],
            operand=op.operands[0] if _quantises(op) else None,
        )
        for op in graph.ops
        if graph.use_count.get(op.name, 0) and originals.get(op.name) in sources
        if _is_rounded(op, allowed) or originals[op.name] in in_float
    )


def _is_rounded(op: Op, allowed: Mapping[str, Tolerance]) -> bool:
    """Whether an operator makes integers of rounded floats.

    Average pools of integers add floats, too. onnxruntime adds them in another order where what a
    pool makes is also an output: then it runs the pool in float.
    """
    return _averages(op) or (_quantises(op) and allowed[op.name] != EQUAL)


def _quantises(op: Op) -> bool:
    return spec_of(op).family is Family.QUANTIZE


def _averages(op: Op) -> bool:
    return op.kind == "avg_pool" and op.result.type.quant is not None


def verify_sections(
    network: Network,
    graph: Graph,
    found: tuple[Cut, ...],
    tensors: Mapping[str, Array],
    inputs: Mapping[str, Array],
) -> Verification:
    """Compare what a program computed with onnxruntime, section by section.

    Args:
        network: What was compiled.
        graph: Its graph as the reference runs it.
        found: Where it is cut.
        tensors: What the program computed: the tensors at the cuts, and the outputs.
        inputs: What it ran on, by ONNX name.
    """
    model = in_sections(network.model, {cut.original: graph.types[cut.name] for cut in found})
    given = {given_name(cut.original): tensors[cut.name] for cut in found}
    outputs = network.imported.output_names
    wanted = [*(cut.source for cut in found), *(original for original, _ in outputs)]
    expected = reference_outputs(model, {**inputs, **given}, list(dict.fromkeys(wanted)))
    allowed = tolerances(graph, given=frozenset(cut.name for cut in found))
    checks = [
        _compare_cut(
            cut,
            graph,
            tensors[cut.name],
            expected[cut.source],
            Tolerance(FLOAT_TOLERANCE) if cut.operand is None else allowed[cut.operand],
        )
        for cut in found
    ]
    checks += [
        compare(tensors[name], expected[original], original, tolerance=allowed.get(name, EQUAL))
        for original, name in outputs
        if name not in {cut.name for cut in found}
    ]
    return replace(judged(tuple(checks)), sections=len(found) + 1)


def _compare_cut(
    cut: Cut, graph: Graph, found: Array, floats: Array, allowed: Tolerance
) -> OutputCheck:
    """Compare integers with the floats that they are made of, in steps of the quantisation.

    Floats in front of a jump are compared as they are.

    Args:
        cut: The tensor.
        graph: Knows its type.
        found: What the program computed.
        floats: What onnxruntime quantises.
        allowed: How far the program's floats may be from these.
    """
    quant = graph.types[cut.name].quant
    if quant is None:
        return compare(found, floats, cut.original, tolerance=allowed)
    limits = np.iinfo(found.dtype.name)
    exact = floats.astype(np.float64)
    largest = float(np.max(np.abs(exact), initial=0.0, where=np.isfinite(exact)))
    off = (allowed.relative * largest + allowed.absolute) / quant.scale[0]
    steps = np.clip(exact / quant.scale[0] + quant.zero_point[0], limits.min, limits.max)
    tolerance = Tolerance(absolute=_HALF_STEP + off)
    return compare(found, steps, cut.original, tolerance=tolerance)
