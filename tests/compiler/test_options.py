"""What a user may choose for one compilation."""

import pytest

from accnn.compiler.options import CompileOptions, VerifyMode
from accnn.ir.errors import OptionError
from accnn.passes.mapping.problem import Objective
from accnn.passes.scheduling.fusion import Fuse


def test_words_stand_for_values():
    options = CompileOptions(fuse="off", verify="layers", objective="energy")  # pyright: ignore[reportArgumentType]

    assert options.fuse is Fuse.OFF
    assert options.verify is VerifyMode.LAYERS
    assert options.objective is Objective.ENERGY


@pytest.mark.parametrize("name", ["fuse", "verify", "objective", "calibration_method"])
def test_other_words_are_refused(name: str):
    with pytest.raises(OptionError, match=f"{name} is 'bogus'") as caught:
        CompileOptions(**{name: "bogus"})

    assert "it is one of '" in (caught.value.hint or "")
