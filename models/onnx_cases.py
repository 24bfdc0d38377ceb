"""The node cases of ONNX's own backend tests: models of one operator, inputs, expected outputs.

The ``onnx`` package makes them when its modules are imported, one module for each operator or few.
"""

import importlib
import pkgutil
import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, numpy_helper
from onnx.backend.test.case import node as _node

from .session import Model

_EXPANDED = re.compile(r"_expanded(_ver\d+)?$")
_PLAIN = frozenset({"float32", "int8", "uint8", "int32", "int64", "bool"})


Content = NDArray[Any] | list[Any] | None
"""What a case reads or computes: a tensor, a sequence, or an optional that is absent."""


@dataclass(frozen=True, slots=True)
class DataSet:
    """Inputs in the model's order, and expected outputs."""

    inputs: tuple[Content, ...]
    outputs: tuple[Content, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCase:
    """One case.

    Attributes:
        name: As in ONNX, ``test_...``.
        operator: The operator under test; of an expanded case, that which was expanded.
        domain: Its domain, ``""`` for the standard one.
        model: The model.
        data_sets: What it reads and should compute.
        rtol: Allowed difference, relative to the expected value.
        atol: Allowed difference in the output's own unit.
    """

    name: str
    operator: str
    domain: str
    model: Model
    data_sets: tuple[DataSet, ...]
    rtol: float
    atol: float

    @property
    def expanded(self) -> bool:
        """Return whether the model is the operator's definition by other operators."""
        return _EXPANDED.search(self.name) is not None

    def arrays(self, data: DataSet) -> dict[str, NDArray[Any]]:
        """Return the tensors that the model reads, by name."""
        weights = {tensor.name for tensor in self.model.graph.initializer}
        names = [value.name for value in self.model.graph.input if value.name not in weights]
        pairs = zip(names, data.inputs, strict=True)
        return {name: value for name, value in pairs if isinstance(value, np.ndarray)}

    @property
    def plain(self) -> bool:
        """Return whether all tensors are float32, bool, or common integers."""
        tensors = [x for data in self.data_sets for x in (*data.inputs, *data.outputs)]
        return all(isinstance(x, np.ndarray) and x.dtype.name in _PLAIN for x in tensors)


def node_cases(operators: Iterable[str] | None = None) -> tuple[NodeCase, ...]:
    """Return the cases sorted by name; ONNX draws their data with fixed seeds.

    Args:
        operators: Whose cases to return; all by default, which takes about 20 s to make.
    """
    wanted = None if operators is None else frozenset(operators)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # cases are about overflows and divisions by zero, too
        for name in _modules(wanted):
            importlib.import_module(name)
    made = cast(Sequence[Any], vars(_node)["_NodeTestCases"])
    known = {case.name: _operator(case.model) for case in made}
    cases = (_node_case(case, known) for case in sorted(made, key=lambda case: case.name))
    return tuple(case for case in cases if wanted is None or case.operator in wanted)


def _modules(operators: frozenset[str] | None) -> list[str]:
    """Return the modules that make cases of some operators: they bear their names.

    All modules, where one is not found so.
    """
    found = pkgutil.walk_packages(_node.__path__, f"{_node.__name__}.")
    names = sorted(item.name for item in found if not item.ispkg)
    by_operator = {name.rpartition(".")[2].replace("_", ""): name for name in names}
    if operators is None or any(name.lower() not in by_operator for name in operators):
        return names
    return sorted(by_operator[name.lower()] for name in operators)


def _operator(model: Model) -> tuple[str, str]:
    first = model.graph.node[0]
    return first.op_type, "" if first.domain == "ai.onnx" else first.domain


def _node_case(case: Any, operators: dict[str, tuple[str, str]]) -> NodeCase:
    base = _EXPANDED.sub("", case.name)
    operator, domain = operators.get(base, operators[case.name])
    return NodeCase(
        name=case.name,
        operator=operator,
        domain=domain,
        model=case.model,
        data_sets=tuple(
            DataSet(tuple(map(_content, given)), tuple(map(_content, wanted)))
            for given, wanted in case.data_sets
        ),
        rtol=case.rtol,
        atol=case.atol,
    )


def _content(value: Any) -> Content:
    """Return a value; ONNX gives some tensors as messages, or as scalars of NumPy."""
    if isinstance(value, TensorProto):
        return np.asarray(numpy_helper.to_array(value))
    return np.asarray(cast(Any, value)) if isinstance(value, np.generic) else value
