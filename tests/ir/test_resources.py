"""Constants beside the graph: frozen, equal by content, saved without pickle."""

import numpy as np
import pytest

from accnn.ir.errors import InputError, VerifyError
from accnn.ir.graph import Graph, Value
from accnn.ir.resources import Constants
from accnn.ir.types import DType, TensorType


def arrays():
    return {
        "w": np.arange(6, dtype=np.int8).reshape(2, 3),
        "b": np.array([1.5, -2], np.float32),
        "s": np.array(3, np.int64),
    }


def test_equality_is_by_content_and_not_by_order():
    given = arrays()
    swapped = {name: given[name] for name in reversed(given)}

    assert Constants(given) == Constants(swapped)
    assert hash(Constants(given)) == hash(Constants(swapped))
    assert Constants(given) != Constants({**given, "b": given["b"] + 1})
    assert Constants(given) != Constants({**given, "w": given["w"].reshape(3, 2)})


def test_arrays_cannot_be_written_to_from_either_side():
    mine = arrays()
    constants = Constants(mine)
    mine["b"][0] = 9

    assert constants["b"][0] == 1.5
    with pytest.raises(ValueError, match="read-only"):
        constants["b"][0] = 9


def test_saving_and_loading(tmp_path):
    constants = Constants(arrays())
    constants.save(tmp_path / "c.safetensors")

    assert Constants.load(tmp_path / "c.safetensors") == constants
    assert constants.to_bytes() == Constants(arrays()).to_bytes()


@pytest.mark.parametrize("blob", [b"", b"PK\x03\x04", b"\xff" * 64])
def test_other_files_are_refused(tmp_path, blob):
    (tmp_path / "c").write_bytes(blob)

    with pytest.raises(InputError, match="constants are not a safetensors file"):
        Constants.load(tmp_path / "c")


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot read constants"):
        Constants.load(tmp_path / "c")


def test_only_types_of_tensors_are_allowed():
    with pytest.raises(VerifyError, match="no element type for arrays of complex128"):
        Constants({"z": np.zeros(2, np.complex128)})


def test_a_graph_and_its_constants_must_agree():
    constant = Value("w", TensorType(DType.S8, (2, 3)))
    graph = Graph(name="g", inputs=(), constants=(constant,), ops=(), outputs=("w",))

    Constants(arrays()).verify(graph)
    with pytest.raises(VerifyError, match="constant %w has no data"):
        Constants({}).verify(graph)
    with pytest.raises(VerifyError, match=r"constant %w is s8<2x3>, its data are s8 \(6,\)"):
        Constants({"w": np.zeros(6, np.int8)}).verify(graph)
