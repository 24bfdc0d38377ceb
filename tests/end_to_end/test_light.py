"""The ``light_*`` networks of the onnx package, with seeded weights: compiled, run, compared."""

from pathlib import Path

import pytest

import accnn
from accnn.compiler.options import CompileOptions
from accnn.ir.report import VerificationStatus
from accnn.models.session import save_model
from tests.light import NAMES, light

SIMPLE = CompileOptions(mapper="output-stationary", scheduler="in-order", samples=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("arch", ["edge-fp32", "edge-1m"])
def test_light_networks_compute_what_onnxruntime_does(name: str, arch: str, tmp_path: Path):
    path = tmp_path / f"{name}.onnx"
    save_model(light(name), path)

    found = accnn.compile(path, arch=arch, options=SIMPLE).report.verification

    assert found.status is VerificationStatus.VERIFIED
    assert found.elements == 1000
