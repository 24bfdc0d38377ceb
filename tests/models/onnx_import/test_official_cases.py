"""ONNX's own cases of every operator: what an import means, by NumPy, is what ONNX expects."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto

from accnn.compiler.conformance.passed import read_passed
from accnn.ir.errors import ComputedOperandError
from accnn.models.onnx_cases import NodeCase, node_cases
from accnn.models.onnx_import import import_model
from accnn.models.onnx_import.loading.constants import as_rows, bind_constants
from accnn.models.onnx_import.loading.shapes import fix_shapes
from accnn.models.onnx_import.loading.widen import compute_in_float32
from accnn.runtime_sim.reference import run
from tests.inputs import Array

PASSED = read_passed(Path(__file__).parents[2] / "compiler" / "conformance" / "passed.txt")
LONG = {"AveragePool", "LpPool", "Range"}
"""Operators whose cases take ONNX seconds to make; networks and other tests have them, too."""


@cache
def cases(operators: tuple[str, ...]) -> Mapping[str, NodeCase]:
    return {case.name: case for case in node_cases(operators)}


QUICK = tuple(operator for operator in PASSED if operator not in LONG)


@pytest.mark.parametrize(
    "operator",
    [pytest.param(name, marks=pytest.mark.slow if name in LONG else ()) for name in PASSED],
)
def test_what_an_operator_is_imported_as_computes_what_is_expected(operator: str) -> None:
    known = cases((operator,) if operator in LONG else QUICK)
    for name in PASSED[operator]:
        case = known[name]
        for data in case.data_sets:
            found = computed(case, case.arrays(data))
            for (output, ours), wanted in zip(found.items(), data.outputs, strict=True):
                assert isinstance(wanted, np.ndarray)
                assert (ours.shape, ours.dtype) == (wanted.shape, wanted.dtype), (name, output)
                with np.errstate(invalid="ignore", over="ignore"):
                    np.testing.assert_allclose(
                        ours, wanted, case.rtol, case.atol, err_msg=f"{name} {output}"
                    )


def computed(case: NodeCase, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Return the outputs by NumPy's meaning; inputs that must be constants are."""
    bound = {name for name, array in arrays.items() if not array.size}
    while True:
        model = ModelProto()
        model.CopyFrom(case.model)
        bind_constants(model, {name: as_rows(arrays[name]) for name in bound})
        fix_shapes(model, {name: arrays[name].shape for name in arrays if name not in bound})
        types = compute_in_float32(model)
        try:
            network = import_model(model)
        except ComputedOperandError as error:
            assert bound < bound.union(error.inputs), error
            bound |= set(error.inputs)
            continue
        given = {
            name: arrays[original].astype(np.float32) if original in types else arrays[original]
            for original, name in network.input_names
        }
        with np.errstate(all="ignore"):  # cases are about overflows and infinities, too
            made = run(network.graph, network.constants, given)
        found = {original: made[name] for original, name in network.output_names}
        found |= dict(network.empty_outputs)
        with np.errstate(over="ignore"):
            return {
                output.name: found[output.name].astype(types.get(output.name), copy=False)
                if output.name in types
                else found[output.name]
                for output in case.model.graph.output
            }
