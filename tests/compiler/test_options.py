"""What a user may choose for one compilation."""

from pathlib import Path

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


@pytest.mark.parametrize("name", ["calibration", "accuracy", "inputs", "cache"])
def test_text_is_a_path(name: str):
    options = CompileOptions(**{name: "some/file"})

    assert getattr(options, name) == Path("some/file")


@pytest.mark.parametrize(
    ("text", "size"), [("64K", 65536), ("1m", 1 << 20), ("512", 512), ("MR", "mr")]
)
def test_sizes_of_the_scratchpad_are_read_as_on_the_command_line(text: str, size: int | str):
    assert CompileOptions(scratchpad=text).scratchpad == size


def test_what_is_no_size_is_refused():
    with pytest.raises(OptionError, match="scratchpad 64Q: not a number of bytes") as caught:
        CompileOptions(scratchpad="64Q")

    assert "64K" in (caught.value.hint or "")


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf")])
def test_a_time_that_is_none_is_refused(seconds: float):
    with pytest.raises(OptionError, match="max_seconds is"):
        CompileOptions(max_seconds=seconds)

    assert CompileOptions(max_seconds=0.0).max_seconds == 0.0


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("mapper", None, "mapper is None, must be text"),
        ("seed", "1", "seed is '1', must be a whole number"),
        ("samples", True, "samples is True, must be a whole number"),
        ("races", "no", "races is 'no', must be True or False"),
        ("settings", "map-operators.mapper=loma", "must be a tuple of texts"),
        ("constants", (1, 2), "must be a mapping of names to values"),
    ],
)
def test_values_of_other_types_are_refused(name: str, value: object, message: str):
    with pytest.raises(OptionError, match=message):
        CompileOptions(**{name: value})  # pyright: ignore[reportArgumentType]
