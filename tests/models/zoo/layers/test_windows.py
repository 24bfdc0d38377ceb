"""Windows: shapes equal onnxruntime's, and one that does not fit is refused."""

import numpy as np
import pytest
from onnx import TensorProto, helper

from accnn.ir.errors import OptionError
from accnn.models.session import make_session, run
from accnn.models.zoo.layers.builder import NetBuilder
from accnn.models.zoo.layers.structure import ZooOptions


@pytest.mark.parametrize("size", [112, 109, 54, 27, 5, 4])
@pytest.mark.parametrize(("kernel", "stride"), [(3, 2), (2, 2), (3, 3)])
def test_a_pool_with_ceiling_has_the_shape_that_onnxruntime_computes(size, kernel, stride):
    net = NetBuilder("pool", ZooOptions(image_size=size))
    network = net.finish(net.max_pool(net.image(), "pool", kernel, stride, ceil=True))
    (source, sink) = (
        helper.make_tensor_value_info(v.name, TensorProto.FLOAT, shape)
        for v, shape in ((network.inputs[0], network.inputs[0].shape), (network.output, None))
    )
    graph = helper.make_graph(network.nodes, "pool", [source], [sink])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    result = run(make_session(model), {"input": np.zeros(network.inputs[0].shape, np.float32)})

    assert network.output.shape == result["logits"].shape


def test_a_padded_pool_has_no_ceiling():
    net = NetBuilder("pool", ZooOptions(image_size=8))

    with pytest.raises(AssertionError, match="pool: padded, and with a ceiling"):
        net.max_pool(net.image(), "pool", 3, 2, pad=1, ceil=True)


def test_a_dilated_window_reaches_further():
    net = NetBuilder("net", ZooOptions(image_size=8))
    x = net.image()

    assert net.conv(x, "fits", 4, 3, dilation=3).shape == (1, 4, 2, 2)
    with pytest.raises(OptionError, match="8 pixels is too small: wide slides a 3x3 window"):
        net.conv(x, "wide", 4, 3, dilation=4)
