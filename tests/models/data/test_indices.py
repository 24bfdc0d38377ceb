"""Inputs that are indices."""

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from accnn.models.data.indices import index_bounds


def model(*nodes: NodeProto) -> ModelProto:
    infos = [helper.make_tensor_value_info(n, TensorProto.INT64, (2,)) for n in ("i", "j")]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    tables = [
        numpy_helper.from_array(np.zeros((30, 5), np.float32), "wide"),
        numpy_helper.from_array(np.zeros((20, 5), np.float32), "low"),
    ]
    return helper.make_model(helper.make_graph(nodes, "net", infos, [output], tables))


def gather(table: str, indices: str, **attributes: int) -> NodeProto:
    return helper.make_node("Gather", [table, indices], ["y"], **attributes)


def test_an_index_is_below_the_extent_of_its_axis():
    assert index_bounds(model(gather("wide", "i"))) == {"i": 30}
    assert index_bounds(model(gather("wide", "i", axis=1))) == {"i": 5}


def test_the_least_extent_counts():
    assert index_bounds(model(gather("wide", "i"), gather("low", "i"))) == {"i": 20}


def test_casts_and_moves_are_followed():
    cast = helper.make_node("Cast", ["j"], ["c"], to=TensorProto.INT32)
    wide = helper.make_node("Unsqueeze", ["c", "axes"], ["u"])

    assert index_bounds(model(cast, wide, gather("low", "u"))) == {"j": 20}


def test_what_is_gathered_from_a_result_is_unknown():
    computed = helper.make_node("Relu", ["wide"], ["r"])

    assert index_bounds(model(computed, gather("r", "i"))) == {}
