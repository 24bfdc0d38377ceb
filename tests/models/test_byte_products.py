"""Products of u8 and s8 are exact on every processor: those without VNNI saturate 16-bit sums."""

import numpy as np
import numpy.typing as npt
import pytest
from onnx import ModelProto, parser

from accnn.models.byte_products import with_exact_products
from accnn.models.session import make_session, run

Array = npt.NDArray[np.generic]

X = np.full((2, 4), 255, np.uint8)
W = np.array([[-128, 127, 127], [-128, 127, 1], [-127, 127, -127], [-128, 126, 0]], np.int8)
PRODUCT = X.astype(np.int64) @ W
WEIGHTS = f"int8[4,3] w = {{{', '.join(map(str, W.ravel()))}}}"
FILTERS = f"int8[3,4,1,1] w = {{{', '.join(map(str, W.T.ravel()))}}}"


def model(inputs: str, output: str, constants: str, *nodes: str) -> ModelProto:
    """Return a model from its text.

    Args:
        inputs: With their types.
        output: With its type.
        constants: With types and values.
        nodes: Statements.
    """
    return parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1]>
        net ({inputs}) => ({output}) <{constants}> {{ {" ".join(nodes)} }}"""
    )


MATMUL = "x, one, zero, w, one, signed, thousand, zero"
SCALES = "float one = {1}, float thousand = {2048}, uint8 zero = {0}, int8 signed = {0}"
QUANTISED = np.clip(np.rint(PRODUCT / 2048), 0, 255)
"""What products are after quantisation."""

OPERATORS = {
    "MatMulInteger": (
        model("uint8[2,4] x", "int32[2,3] y", WEIGHTS, "y = MatMulInteger(x, w)"),
        PRODUCT,
    ),
    "MatMulInteger, zero points": (
        model(
            "uint8[2,4] x",
            "int32[2,3] y",
            f"{WEIGHTS}, uint8 a = {{3}}, int8[3] b = {{1, 2, -128}}",
            "y = MatMulInteger(x, w, a, b)",
        ),
        (X.astype(np.int64) - 3) @ (W.astype(np.int64) - [1, 2, -128]),
    ),
    "MatMulInteger, of what another node makes": (
        model(
            "uint8[4,2] t",
            "int32[2,3] y",
            WEIGHTS,
            "x = Transpose <perm = [1, 0]> (t)",
            "y = MatMulInteger(x, w)",
        ),
        PRODUCT,
    ),
    "MatMulInteger, both given": (
        model("uint8[2,4] x, int8[4,3] w", "int32[2,3] y", "", "y = MatMulInteger(x, w)"),
        PRODUCT,
    ),
    "ConvInteger": (
        model("uint8[2,4,1,1] x", "int32[2,3,1,1] y", FILTERS, "y = ConvInteger(x, w)"),
        PRODUCT,
    ),
    "DynamicQuantizeMatMul": (
        model(
            "float[2,4] x",
            "float[2,3] y",
            f"{WEIGHTS}, float[1] one = {{1}}",
            "y = com.microsoft.DynamicQuantizeMatMul(x, w, one)",
        ),
        PRODUCT,
    ),
    "MatMulIntegerToFloat": (
        model(
            "uint8[2,4] x",
            "float[2,3] y",
            f"{WEIGHTS}, float one = {{1}}",
            "y = com.microsoft.MatMulIntegerToFloat(x, w, one, one)",
        ),
        PRODUCT,
    ),
    "QLinearMatMul": (
        model(
            "uint8[2,4] x", "uint8[2,3] y", f"{WEIGHTS}, {SCALES}", f"y = QLinearMatMul({MATMUL})"
        ),
        QUANTISED,
    ),
    "QGemm": (
        model(
            "uint8[2,4] x",
            "uint8[2,3] y",
            f"{WEIGHTS}, {SCALES}",
            "y = com.microsoft.QGemm(x, one, zero, w, one, signed, , thousand, zero)",
        ),
        QUANTISED,
    ),
    "QLinearConv": (
        model(
            "uint8[2,4,1,1] x",
            "uint8[2,3,1,1] y",
            f"{FILTERS}, {SCALES}",
            f"y = QLinearConv({MATMUL})",
        ),
        QUANTISED,
    ),
    "Conv": (
        model(
            "uint8[2,4,1,1] x",
            "uint8[2,3,1,1] y",
            f"{FILTERS}, {SCALES}",
            "a = DequantizeLinear(x, one, zero)",
            "b = DequantizeLinear(w, one, signed)",
            "c = Conv(a, b)",
            "y = QuantizeLinear(c, thousand, zero)",
        ),
        QUANTISED,
    ),
    "Conv, a scale for every filter, no zero points": (
        model(
            "uint8[2,4,1,1] x",
            "uint8[2,3,1,1] y",
            f"{FILTERS}, {SCALES}, float[3] ones = {{1, 1, 1}}",
            "a = DequantizeLinear(x, one, zero)",
            "b = DequantizeLinear <axis = 0> (w, ones)",
            "c = Conv(a, b)",
            "y = QuantizeLinear(c, thousand, zero)",
        ),
        QUANTISED,
    ),
    "MatMul, no zero point of weights": (
        model(
            "uint8[2,4] x",
            "uint8[2,3] y",
            f"{WEIGHTS}, {SCALES}",
            "a = DequantizeLinear(x, one, zero)",
            "b = DequantizeLinear(w, one)",
            "c = MatMul(a, b)",
            "y = QuantizeLinear(c, thousand, zero)",
        ),
        QUANTISED,
    ),
}


def given(net: ModelProto) -> dict[str, Array]:
    """Return the inputs of a model."""
    values = {"x": X, "t": X.T, "w": W}
    return {
        item.name: values[item.name]
        .reshape([axis.dim_value for axis in item.type.tensor_type.shape.dim])
        .astype(np.float32 if item.type.tensor_type.elem_type == 1 else values[item.name].dtype)
        for item in net.graph.input
    }


@pytest.mark.parametrize("name", [*OPERATORS])
def test_products_are_exact(name: str):
    net, expected = OPERATORS[name]

    found = run(make_session(net), given(net))["y"]

    assert np.array_equal(found.reshape(2, 3), expected)


@pytest.mark.parametrize("name", [*OPERATORS])
def test_no_u8_meets_s8_any_more(name: str):
    """The processor may compute u8 times s8 exactly, so that results do not tell."""
    net, _ = OPERATORS[name]

    changed = with_exact_products(net)

    assert changed is not net
    assert with_exact_products(changed) is changed


@pytest.mark.parametrize(
    "net",
    [
        model("uint8[2,4] x, uint8[4,3] w", "int32[2,3] y", "", "y = MatMulInteger(x, w)"),
        model("float[2,4] x, float[4,3] w", "float[2,3] y", "", "y = MatMul(x, w)"),
        model(
            "int8[2,4] x",
            "int8[2,3] y",
            f"{WEIGHTS}, {SCALES}",
            "y = QLinearMatMul(x, one, signed, w, one, signed, thousand, signed)",
        ),
        model(
            "int8[2,4] x",
            "float[2,3] y",
            f"{WEIGHTS}, {SCALES}",
            "a = DequantizeLinear(x, one, signed)",
            "b = DequantizeLinear(w, one, signed)",
            "y = MatMul(a, b)",
        ),
    ],
    ids=["u8 and u8", "floats", "s8 and s8", "dequantised s8"],
)
def test_others_remain_as_they_are(net: ModelProto):
    assert with_exact_products(net) is net


def test_weights_of_several_products_are_made_once_and_take_no_others_name():
    net = model(
        "uint8[2,4] x",
        "int32[2,3] y",
        WEIGHTS,
        "a = MatMulInteger(x, w)",
        "b = MatMulInteger(x, w)",
        "y = Add(a, b)",
    )
    net.graph.node[0].output[0] = net.graph.node[2].input[0] = "w/u8"

    changed = with_exact_products(net)

    names = [item.name for item in changed.graph.initializer]
    assert len(names) == len({*names, "w/u8"}) - 1
    assert np.array_equal(run(make_session(net), {"x": X})["y"], 2 * PRODUCT)
