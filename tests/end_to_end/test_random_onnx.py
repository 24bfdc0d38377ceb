"""Random ONNX networks through the whole flow: quantised or not, whatever the passes."""

from pathlib import Path
from tempfile import TemporaryDirectory

import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import accnn
from accnn.compiler.options import CompileOptions, VerifyMode
from accnn.ir.errors import InfeasibleError
from accnn.ir.report import VerificationStatus
from tests.thinned import examples

from .onnx_strategies import onnx_networks

CHOICES = st.builds(
    CompileOptions,
    mapper=st.just("output-stationary"),
    scheduler=st.sampled_from(["in-order", "cosma"]),
    tiles=st.sampled_from(["static", "flexer"]),
    verify=st.sampled_from([VerifyMode.OUTPUTS, VerifyMode.LAYERS]),
    races=st.just(True),
    processes=st.just(1),
)


@pytest.mark.parametrize("arch", ["simba", "flexer-arch5", "edge-fp32"])
@settings(
    max_examples=examples(5),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(model=onnx_networks(), options=CHOICES)
def test_random_networks_equal_onnxruntime(model: onnx.ModelProto, arch: str, options):
    onnx.checker.check_model(model, full_check=True)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "random.onnx"
        onnx.save(model, path)

        try:
            result = accnn.compile(path, arch=arch, options=options)
        except InfeasibleError as error:
            # The quantiser leaves some products in floats, which no integer array takes.
            assert arch != "edge-fp32" and "reg: needs 4 byte" in str(error)
            return

    assert result.report.verification.status is VerificationStatus.VERIFIED
