"""Attention as it is taken apart equals its definition."""

import numpy as np
import pytest
from onnx import TensorProto, helper

from accnn.models.session import make_session, run
from accnn.models.zoo.draw import Weights, draw
from accnn.models.zoo.layers.attention import Attention, attend, causal_mask
from accnn.models.zoo.layers.builder import NetBuilder
from accnn.models.zoo.layers.structure import Structure, ZooOptions
from accnn.models.zoo.weights import initialisers

HEADS, LENGTH, WIDTH = 2, 5, 8
X = np.random.default_rng(0).standard_normal((1, LENGTH, WIDTH)).astype(np.float32)


def attention(*, fused: bool = False, causal: bool = False) -> tuple[Structure, Weights]:
    net = NetBuilder("attention", ZooOptions())
    x = net.input("x", X.shape)
    mask = causal_mask(net, "mask", LENGTH) if causal else None
    network = net.finish(attend(net, x, "a", Attention(heads=HEADS, fused=fused, mask=mask)))
    return network, draw(network.parameters, 0)


def computed(network: Structure, weights: Weights) -> np.ndarray:
    source, sink = (
        helper.make_tensor_value_info(value.name, TensorProto.FLOAT, value.shape)
        for value in (network.inputs[0], network.output)
    )
    graph = helper.make_graph(network.nodes, "net", [source], [sink], initialisers(weights))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return run(make_session(model), {"x": X})["logits"]


def defined(query: np.ndarray, key: np.ndarray, value: np.ndarray, *, causal: bool) -> np.ndarray:
    """Return softmax(QK^T / sqrt(d))V of every head, side by side."""
    results = []
    for head in np.split(np.arange(WIDTH), HEADS):
        scores = query[:, head] @ key[:, head].T / np.sqrt(len(head))
        scores[np.triu_indices(LENGTH, 1) if causal else ([], [])] = -np.inf
        weights = np.exp(scores)
        results.append(weights / weights.sum(axis=1, keepdims=True) @ value[:, head])
    return np.concatenate(results, axis=1)


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("causal", [False, True])
def test_attention_is_what_it_is_defined_as(fused: bool, causal: bool):
    network, weights = attention(fused=fused, causal=causal)
    if fused:
        parts = np.split(X[0] @ weights["a.qkv.weight"] + weights["a.qkv.bias"], 3, axis=1)
    else:
        names = (f"a.{name}" for name in ("query", "key", "value"))
        parts = [X[0] @ weights[f"{n}.weight"] + weights[f"{n}.bias"] for n in names]

    mixed = defined(*parts, causal=causal)

    expected = mixed @ weights["a.output.weight"] + weights["a.output.bias"]
    np.testing.assert_allclose(computed(network, weights)[0], expected, rtol=1e-4, atol=1e-5)
