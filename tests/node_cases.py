"""ONNX's own test cases of single nodes, as models that can be compiled.

Their parameters (axes, shapes, sizes) are inputs; here they are constants where an operator needs
them so, as exporters write them.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
from onnx import ModelProto, numpy_helper
from onnx.backend.test.loader import load_model_tests

from accnn.compiler.driver import compile
from accnn.compiler.options import CompileOptions
from accnn.ir.errors import ModelError
from accnn.models.onnx_import.table import NEWEST_OPSET

Array = npt.NDArray[np.generic]

_NEWEST_IR = 10
_PARAMETERS = ("needs a constant", "has the dynamic shape")


@dataclass(frozen=True)
class NodeCase:
    """A model with inputs.

    Attributes:
        name: Name of the case.
        model: The model.
        inputs: Its inputs, by name.
    """

    name: str
    model: ModelProto
    inputs: Mapping[str, Array]

    @property
    def kind(self) -> str:
        """The operator that it is about."""
        return self.model.graph.node[0].op_type

    def with_constants(self) -> "NodeCase":
        """Return the case with what looks like a parameter as a constant."""
        model = ModelProto()
        model.CopyFrom(self.model)
        inputs = dict(self.inputs)
        for number, value in enumerate(list(model.graph.input)):
            array = inputs[value.name]
            if array.size and (number == 0 or (array.dtype.kind == "f" and array.ndim > 1)):
                continue
            model.graph.initializer.append(numpy_helper.from_array(array, value.name))
            model.graph.input.remove(value)
            del inputs[value.name]
        return NodeCase(self.name, model, inputs)

    def status(self, folder: Path) -> str:
        """Compile the case for a float machine and return the verdict."""
        try:
            return self._status(folder)
        except ModelError as error:
            if not any(text in str(error) for text in _PARAMETERS):
                raise
            return self.with_constants()._status(folder)

    def _status(self, folder: Path) -> str:
        path, data = folder / f"{self.name}.onnx", folder / f"{self.name}.npz"
        onnx.save(self.model, path)
        np.savez(data, **self.inputs)  # type: ignore[arg-type]
        options = CompileOptions(
            cache=None, mapper="output-stationary", scheduler="in-order", inputs=data
        )
        verification = compile(path, arch="edge-fp32", options=options).report.verification
        assert verification is not None
        return verification.status.value


@cache
def node_cases() -> Mapping[str, NodeCase]:
    """Return all cases that are no expansion of another, by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loaded = load_model_tests(kind="node")
    found: dict[str, NodeCase] = {}
    for case in loaded:
        if "_expanded" in case.name or case.model is None or not case.data_sets:
            continue
        if not all(isinstance(item, np.ndarray | np.generic) for item in case.data_sets[0][0]):
            continue  # sequences, absent optionals, and types that NumPy lacks
        model = ModelProto()
        model.CopyFrom(case.model)
        model.ir_version = min(model.ir_version, _NEWEST_IR)
        for entry in model.opset_import:
            if not entry.domain:
                entry.version = min(entry.version, NEWEST_OPSET)
        inputs = {
            value.name: np.asarray(array)
            for value, array in zip(model.graph.input, case.data_sets[0][0], strict=False)
        }
        found[case.name] = NodeCase(case.name, model, inputs)
    return found
