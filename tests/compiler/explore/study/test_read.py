from pathlib import Path

import pytest

from accnn.compiler.explore.study.read import read_study
from accnn.ir.errors import InputError
from tests.exploring import STUDY, small_study


def test_lists_ranges_and_formulas_span_the_space(tmp_path: Path):
    text = STUDY.replace("[4, 8, 16]", "{ from = 4, to = 20, factor = 2 }")

    space = small_study(tmp_path, text).space

    assert [(axis.name, axis.values) for axis in space.axes] == [
        ("gb.capacity", (65536, 131072, 262144)),
        ("pe.size", (4, 8, 16)),
    ]
    assert [name for name, _ in space.formulas] == ["wb.capacity"]
    assert [space.indices(number) for number in (0, 1, 8)] == [(0, 0), (0, 1), (2, 2)]


def test_a_range_with_steps_holds_both_ends(tmp_path: Path):
    text = STUDY.replace("[4, 8, 16]", "{ from = 2, to = 8, step = 3 }")

    assert small_study(tmp_path, text).space.axes[1].values == (2, 5, 8)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('objective = "edp"', 'objective = "speed"', "study.toml: objective = "),
        ('objective = "edp"', 'objectiv = "edp"', "did you mean 'objective'?"),
        ('base = "simba.toml"', "", "give either base or bases"),
        ('base = "simba.toml"', 'base = "simbo"', "base: no architecture file 'simbo'"),
        ("pe.size = [4", "pe.sizes = [4", "parameters.pe.sizes = .* no such key"),
        ("[4, 8, 16]", "[]", "must name at least one value"),
        ("[4, 8, 16]", "{ from = 4, to = 8 }", "must have from, to, and either step or factor"),
        ("[4, 8, 16]", "{ from = 8, to = 4, step = 1 }", "must grow"),
        ("gb.capacity / 32", "gb.capacity +", "is no formula"),
        ("gb.capacity / 32", "__import__('os')", "cannot compute"),
        ("gb.capacity / 32", "wb.capacity + 1", "read each other"),
        ("[parameters]", "[constraints]\nsram = 'much'\n[parameters]", "must be a size"),
        ("[parameters]", "[search]\nmethod = 'best'\n[parameters]", "search.method"),
        ("[parameters]", "[parameters", "not TOML"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, old: str, new: str, message: str):
    assert old in STUDY

    with pytest.raises(InputError, match=message) as caught:
        small_study(tmp_path, STUDY.replace(old, new))

    assert "study.toml" in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(InputError, match="cannot read"):
        read_study(tmp_path / "none.toml")
