import pytest

from accnn.compiler.explore.study.expression import Expression
from accnn.compiler.explore.study.size import size_of, size_text
from accnn.ir.errors import OptionError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("gb.capacity / 32", 2048),
        ("2 * (rows + 1) - 1", 7),
        ("max(rows, 8) // 3", 2),
        ("-rows % 4 + 0.5", 1.5),
        ("ceil(log2(rows))", 2),
    ],
)
def test_arithmetic(text: str, value: float):
    found = Expression(text).value({"gb.capacity": 65536, "rows": 3})

    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 / 0", "has no value"),
        ("unknown + 1", "nothing is called 'unknown'"),
        ("2 ** 99999999", "cannot compute"),
        ("open('x')", "cannot compute"),
        ("().__class__", "cannot compute"),
        ("[x for x in y]", "cannot compute"),
        ("True", "cannot compute"),
        ("rows * 1e300 * 1e300", "out of range"),
        ("max()", "has no value"),
    ],
)
def test_nothing_but_arithmetic_is_carried_out(text: str, message: str):
    with pytest.raises(OptionError, match=message):
        Expression(text).value({"rows": 3})


@pytest.mark.parametrize(
    ("text", "size"),
    [("64 KiB", 65536), ("1.5 KiB", 1536), ("2 MiB", 2**21), ("7 B", 7), ("64 KB", None)],
)
def test_sizes(text: str, size: int | None):
    assert size_of(text) == size


def test_a_size_is_written_in_its_largest_unit():
    assert [size_text(size) for size in (65536, 1000, 2**21)] == ["64 KiB", "1000 B", "2 MiB"]
