"""Networks of the zoo at a small size, and a smaller one, built once per session."""

from collections.abc import Callable
from pathlib import Path

import onnx
import pytest

from accnn.models.zoo.build import build
from tests.end_to_end.random_onnx import branched_network

SIZES = {
    "resnet18": 32,
    "resnet34": 32,
    "resnet50": 32,
    "vgg16": 32,
    "alexnet": 64,
    "squeezenet": 48,
    "mobilenetv2": 32,
    "darknet19": 32,
}
"""Smallest sizes [pixel] at which no feature map vanishes and images differ in all stages."""

Networks = Callable[..., Path]


@pytest.fixture(scope="session")
def branched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the ONNX file of a network that takes no time, with branches."""
    path = tmp_path_factory.mktemp("branched") / "branched.onnx"
    onnx.save(branched_network(), path)
    return path


@pytest.fixture(scope="session")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Networks:
    """Return a function from the name of a network, its size and width to its ONNX file."""
    folder = tmp_path_factory.mktemp("zoo")

    def make(name: str, size: int | None = None, width: float = 1.0) -> Path:
        pixels = size or SIZES[name]
        path = folder / f"{name}-{pixels}-{width}.onnx"
        if not path.exists():
            path.write_bytes(build(name, image_size=pixels, width=width).SerializeToString())
        return path

    return make
