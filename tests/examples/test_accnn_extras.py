"""The package in examples/accnn_extras installs, and all that it adds works."""

import shutil
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

import accnn
from accnn.compiler.options import CompileOptions
from accnn.ir.report import VerificationStatus
from accnn.passes.registry import plugin_passes
from tests.onnx_rows import convolutions_in_a_row

PACKAGE = Path(__file__).parents[2] / "examples" / "accnn_extras"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that the package is installed in, from a copy and without network."""
    folder = tmp_path_factory.mktemp("installed")
    copy = shutil.copytree(PACKAGE, tmp_path_factory.mktemp("source") / "accnn_extras")
    flags = ("--quiet", "--no-build-isolation", "--no-deps", "--no-index", "--target", str(folder))
    subprocess.run([sys.executable, "-m", "pip", "install", *flags, str(copy)], check=True)
    return folder


def test_a_network_is_compiled_with_all_three(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.syspath_prepend(installed)
    onnx.save(convolutions_in_a_row((4, 8, 3, 1), (8, 4, 1, 1), size=8), tmp_path / "net.onnx")
    text = (
        "eliminate-dead,form-integers,merge-reshapes,schedule-in-order,"
        "map-operators{mapper=better-of-two},schedule-tiles"
    )
    options = CompileOptions(processes=1, cache=tmp_path / "cache")

    result = accnn.compile(tmp_path / "net.onnx", arch="pocket", pipeline=text, options=options)

    assert result.report.verification.status is VerificationStatus.VERIFIED
    assert result.arch.name == "pocket"
    assert "merge-reshapes" in [item.name for item in result.report.passes]
    assert {item.mapper for item in result.module.mappings} <= {"output-stationary", "random"}


def test_nothing_of_it_is_there_before():
    assert "merge-reshapes" not in plugin_passes().usable
