"""The zoo on the machines that count: compiled, raced, compared with onnxruntime."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import accnn
from accnn.compiler.options import CompileOptions, VerifyMode
from accnn.ir.groups import further_results
from accnn.ir.module import Module
from accnn.ir.report import VerificationStatus
from accnn.models.onnx_import.loading.load import load_model
from accnn.models.quantisation.quantize import quantize
from accnn.models.session import save_model
from tests.end_to_end.conftest import SIZES, Networks

ARCHS = ("simba", "edge-1m", "flexer-arch5")
DEFAULT = CompileOptions(races=True)
FUSED = CompileOptions(mapper="output-stationary", races=True, processes=1)
"""Plans and groups as by default, of loop nests that take no time."""
SIMPLE = replace(FUSED, scheduler="in-order")
"""Takes no time; with the optimisers, the default, all networks take minutes."""
NARROW = 0.25
"""Width of networks where there is no time for all of their channels."""
ALIKE = {"alexnet", "darknet19", "resnet34", "resnet50", "vgg16"}
"""Networks of the operators of others, and more of them, for which there is no time either."""


@pytest.fixture(scope="module")
def integer(zoo: Networks, tmp_path_factory: pytest.TempPathFactory):
    """Return a function from the name of a network and its width to its quantised ONNX file."""
    folder = tmp_path_factory.mktemp("int8")

    def make(name: str, width: float = 1.0) -> Path:
        path = folder / f"{name}-{width}.onnx"
        if not path.exists():
            save_model(quantize(load_model(zoo(name, width=width)), samples=1).model, path)
        return path

    return make


def assert_verified(path: Path, arch: str, options: CompileOptions = DEFAULT) -> accnn.Result:
    result = accnn.compile(path, arch=arch, options=options)
    found = result.report.verification
    assert found.status is VerificationStatus.VERIFIED
    assert found.mismatches == 0
    assert found.elements >= 1000
    return result


def pairs() -> Iterator[object]:
    """Yield all networks on all machines, and narrow ones, each once, which are the quick ones."""
    for number, network in enumerate(SIZES):
        for arch in ARCHS:
            for options in (SIMPLE, DEFAULT):
                name = f"{network}-{arch}-{options.mapper}"
                yield pytest.param(network, 1.0, arch, options, id=name, marks=pytest.mark.slow)
        if network not in ALIKE:
            arch = ARCHS[number % len(ARCHS)]
            yield pytest.param(network, NARROW, arch, SIMPLE, id=f"narrow-{network}-{arch}")


@pytest.mark.parametrize(("network", "width", "arch", "options"), [*pairs()])
def test_small_networks_are_bit_equal(
    network: str, width: float, arch: str, options: CompileOptions, integer: Callable[..., Path]
):
    result = assert_verified(integer(network, width), arch, options)

    assert all(check.tolerance == 0 for check in result.report.verification.outputs)


def test_a_float_network_is_quantised_for_an_integer_machine(zoo: Networks):
    report = assert_verified(zoo("squeezenet", width=NARROW), "edge-1m", SIMPLE).report

    assert report.quantization is not None
    assert not report.quantization.calibrated
    assert report.quantization.snr_db is not None and report.quantization.snr_db > 10
    assert any("not calibrated" in note for note in report.notes)


def test_a_float_network_runs_as_it_is_on_a_float_machine(zoo: Networks):
    report = assert_verified(zoo("mobilenetv2", width=NARROW), "edge-fp32", SIMPLE).report

    assert report.quantization is None
    assert report.notes == ()


@pytest.mark.parametrize(
    ("network", "width", "arch", "options"),
    [
        ("alexnet", 0.125, "simba", FUSED),
        pytest.param("alexnet", 0.125, "simba", DEFAULT, marks=pytest.mark.slow),
        pytest.param("alexnet", 1.0, "simba", DEFAULT, marks=pytest.mark.slow),
        pytest.param("resnet18", 1.0, "flexer-arch5", DEFAULT, marks=pytest.mark.slow),
        pytest.param("squeezenet", 1.0, "simba", DEFAULT, marks=pytest.mark.slow),
        pytest.param("mobilenetv2", 1.0, "edge-1m", DEFAULT, marks=pytest.mark.slow),
    ],
)
def test_every_layer_is_right_and_looking_changes_no_figure(
    network: str, width: float, arch: str, options: CompileOptions, integer: Callable[..., Path]
):
    looking = replace(options, verify=VerifyMode.LAYERS)
    plain = assert_verified(integer(network, width), arch, options)
    layers = assert_verified(integer(network, width), arch, looking)

    compared = [check.name for check in layers.report.verification.outputs]
    module, outputs = layers.module, layers.network.imported.output_names
    results = [name for item in layers.report.operators for name in stored(module, item.name)]
    assert compared == [*results, *(original for original, _ in outputs)]
    assert plain.report.totals == layers.report.totals
    assert plain.module.program == layers.module.program


def stored(module: Module, name: str) -> tuple[str, ...]:
    """Return the results of a step: of a group, also those that others read."""
    assert module.graph_schedule is not None
    return (*further_results(module.graph, module.graph_schedule.members(name)), name)


@pytest.mark.slow
@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("network", SIZES)
def test_networks_of_full_size_are_bit_equal(network: str, arch: str, zoo: Networks):
    assert_verified(zoo(network, 224), arch)


@pytest.mark.slow
def test_mobilenet_of_full_size_is_within_the_bounds_of_floats(zoo: Networks):
    assert_verified(zoo("mobilenetv2", 224), "edge-fp32")
