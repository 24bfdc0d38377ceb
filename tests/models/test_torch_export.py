"""PyTorch modules are exported; a stub stands for PyTorch."""

import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import onnx
import pytest

import accnn
from accnn.ir.errors import ModelError, OptionError
from accnn.models.torch_export import export_torch, is_torch_module
from tests.compiler.cli.nets import tiny

OPTIONS = accnn.CompileOptions(mapper="output-stationary", scheduler="in-order", cache=None)


@dataclass
class Exporter:
    """Writes a network whatever it is asked, and remembers what that was."""

    asked: list[tuple[Any, ...]] = field(default_factory=list)
    modes: list[bool] = field(default_factory=list)

    def __call__(self, module: Any, arguments: Any, path: str, **options: Any) -> None:
        self.asked.append((arguments, options))
        self.modes.append(module.training)
        if arguments == ("bad",):
            raise RuntimeError("no such layer")
        onnx.save(tiny(), path)


class Module:
    """The base of modules."""

    training = True

    def train(self, mode: bool = True) -> None:
        self.training = mode


class Small(Module):
    """A module."""


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> Exporter:
    found = Exporter()
    torch, nn, onnx_part = (ModuleType(name) for name in ("torch", "torch.nn", "torch.onnx"))
    nn.__dict__["Module"] = Module
    onnx_part.__dict__["export"] = found
    torch.__dict__.update(nn=nn, onnx=onnx_part)
    monkeypatch.setitem(sys.modules, "torch", torch)
    return found


def test_a_module_is_compiled_and_verified(exporter: Exporter) -> None:
    found = accnn.compile(Small(), ("x",), arch="edge-1m", options=OPTIONS)

    assert found.report.model.name == "Small.onnx"
    assert found.report.verification.status == "verified"
    options = {"opset_version": 18, "external_data": False, "verbose": False}
    assert exporter.asked == [(("x",), options)]


def test_an_argument_may_stand_alone(exporter: Exporter, tmp_path: Path) -> None:
    for given in ("x", ("x",), ["x"]):
        export_torch(Small(), given, tmp_path / "net.onnx")

    assert [arguments for arguments, _ in exporter.asked] == [("x",)] * 3


@pytest.mark.parametrize("mode", [True, False])
def test_a_module_is_exported_as_in_inference_and_left_as_it_was(
    mode: bool, exporter: Exporter, tmp_path: Path
) -> None:
    module = Small()
    module.training = mode

    export_torch(module, "x", tmp_path / "net.onnx")

    assert exporter.modes == [False]
    assert module.training is mode


@pytest.mark.usefixtures("exporter")
def test_what_pytorch_cannot_export_says_why(tmp_path: Path) -> None:
    module = Small()

    with pytest.raises(ModelError, match=r"cannot write Small: no such layer"):
        export_torch(module, "bad", tmp_path / "net.onnx")
    assert module.training


@pytest.mark.usefixtures("exporter")
def test_a_module_needs_its_arguments() -> None:
    with pytest.raises(OptionError, match="needs example_inputs"):
        accnn.compile(Small(), arch="edge-1m", options=OPTIONS)


@pytest.mark.usefixtures("exporter")
def test_other_models_take_no_arguments() -> None:
    with pytest.raises(OptionError, match="only a PyTorch module takes example_inputs"):
        accnn.compile(tiny(), ("x",), arch="edge-1m", options=OPTIONS)


@pytest.mark.usefixtures("exporter")
def test_what_is_no_network_is_refused() -> None:
    wrong: Any = 7

    with pytest.raises(OptionError, match="cannot compile a int") as caught:
        accnn.compile(wrong, arch="edge-1m", options=OPTIONS)
    assert "PyTorch module" in str(caught.value.hint)


def test_without_pytorch_nothing_is_a_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)

    assert not is_torch_module(Small())
    assert "torch" not in sys.modules


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # PyTorch's own
def test_pytorch_itself_does_what_the_stub_does() -> None:
    torch: Any = pytest.importorskip("torch")
    layers = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.BatchNorm2d(4), torch.nn.ReLU()
    )

    found = accnn.compile(layers, torch.zeros(1, 3, 8, 8), arch="edge-fp32", options=OPTIONS)

    assert found.report.verification.status == "verified"
    assert layers.training
