"""Heads: the layer that is found, and logits that tell images apart without cancelling."""

import numpy as np
import pytest

from accnn.models.quantisation.quantize import quantize
from accnn.models.zoo import build
from accnn.models.zoo.head import find_head, spanned
from accnn.models.zoo.layers.structure import ZooOptions
from accnn.models.zoo.registry import structure

SMALL = ZooOptions(image_size=64, width=0.25, classes=10, sequence=8)


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("resnet18", "fc"),
        ("darknet19", "conv19"),
        ("unet", "head"),
        ("bert_tiny", "pooler"),
        ("squeezenet", None),  # a rectifier follows
        ("gpt2_blocks", None),  # its last product has a matrix of its own, and no bias
    ],
)
def test_the_head_is_the_last_layer_of_weights(name: str, head: str | None):
    found = find_head(structure(name, SMALL))

    assert (found and found.name) == head


def test_a_head_lies_in_the_span_of_its_features():
    network = structure("resnet18", SMALL)
    head = find_head(network)
    assert head is not None
    rng = np.random.default_rng(0)
    features = rng.normal(5, 1, (8, 128)).astype(np.float32)
    bias = np.zeros(10, np.float32)

    found = spanned(head, features, {"fc.weight": np.zeros((10, 128)), "fc.bias": bias}, seed=0)

    seen = features[:4] - features.mean(axis=0)
    joined = np.concatenate([seen, found["fc.weight"]])
    logits = features @ found["fc.weight"].T + found["fc.bias"]
    assert np.linalg.matrix_rank(joined, tol=1e-3) == 4
    assert logits[4:].std() > 0.5


def test_quantisation_keeps_the_signal_of_features():
    # 14.5 dB with a random head whose logits are centred, measured at the published size.
    model = build("resnet50", image_size=64, width=0.25, classes=100)

    assert quantize(model, samples=2).snr_db > 20
