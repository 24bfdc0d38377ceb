"""The ``light_*`` networks of the onnx package, with seeded weights: compiled, run, compared."""

from pathlib import Path

import pytest

import accnn
from accnn.compiler.options import CompileOptions
from accnn.ir.errors import ModelError
from accnn.ir.report import VerificationStatus
from accnn.models.session import save_model
from tests.light import NAMES, light

SIMPLE = CompileOptions(mapper="output-stationary", scheduler="in-order", samples=1)
REFUSED = {
    "light_bvlc_alexnet": "LRN",
    "light_inception_v1": "LRN",
    "light_squeezenet": "the mask of Dropout, in float",
    "light_vgg19": "the mask of Dropout, in float",
    "light_zfnet512": "LRN",
}
"""What a network has that is not supported on every machine."""


def marked(name: str):
    """Return a network as a parameter that may be refused where it is known to be."""
    marks = [pytest.mark.xfail(reason=REFUSED[name], raises=ModelError)] if name in REFUSED else []
    return pytest.param(name, marks=marks)


@pytest.mark.slow
@pytest.mark.parametrize("name", [marked(name) for name in NAMES])
@pytest.mark.parametrize("arch", ["edge-fp32", "edge-1m"])
def test_light_networks_compute_what_onnxruntime_does(name: str, arch: str, tmp_path: Path):
    path = tmp_path / f"{name}.onnx"
    save_model(light(name), path)

    found = accnn.compile(path, arch=arch, options=SIMPLE).report.verification

    assert found.status is VerificationStatus.VERIFIED
    assert found.elements == 1000
