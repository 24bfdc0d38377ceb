"""Reference sessions: integer semantics that do not depend on luck."""

from pathlib import Path

import numpy as np
import pytest

from accnn.models.session import Optimisation, make_session, run, u8s8_saturates
from accnn.models.zoo import build


@pytest.fixture(scope="module")
def session():
    return make_session(build("squeezenet1_1", image_size=32, classes=10))


def test_outputs_come_by_name(session):
    result = run(session, {"input": np.zeros((1, 3, 32, 32), np.float32)})

    assert {name: array.shape for name, array in result.items()} == {"logits": (1, 10)}


def test_an_unknown_level_is_refused():
    with pytest.raises(ValueError, match="'most' is not a valid Optimisation"):
        make_session(build("squeezenet1_1", image_size=32), optimisation="most")


def test_levels_are_spelled_as_on_the_command_line():
    assert [str(level) for level in Optimisation] == ["none", "basic", "extended", "all"]


def test_saturation_is_found_by_running():
    cpuinfo = Path("/proc/cpuinfo")
    flags = cpuinfo.read_text() if cpuinfo.exists() else ""
    if "avx512_vnni" not in flags and "avx_vnni" not in flags:
        pytest.skip("this machine tells nothing about VNNI")

    assert not u8s8_saturates()
