"""Access maps: what operators read, and what follows from it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accnn.ir.operators.access import AxisMap, move
from accnn.ir.operators.spec import Family
from accnn.ir.ops import OPS, is_move, make_op, parts_of
from accnn.ir.tiles.graph import Range, dense_strides
from accnn.ir.types import DType, TensorType


def stretched(x):
    result = np.zeros((2, 3, 8, 15), np.float32)
    result[:, :, ::2, ::3] = x
    return result


X = TensorType(DType.F32, (2, 3, 4, 5))
SHORT = TensorType(DType.F32, (2, 3, 1, 5))
TYPES = {"x": X, "z": SHORT, "v": TensorType(DType.F32, (1,))}
MOVES = {
    "reshape": (("x",), {"shape": (6, 20)}, lambda x, z: x.reshape(6, 20)),
    "transpose": (("x",), {"perm": (2, 0, 3, 1)}, lambda x, z: x.transpose(2, 0, 3, 1)),
    "concat": (("x", "z", "x"), {"axis": 2}, lambda x, z: np.concatenate((x, z, x), 2)),
    "slice": (
        ("x",),
        {"starts": (0, 2, 1, 4), "steps": (1, -1, 2, -2), "shape": (2, 3, 2, 2)},
        lambda x, z: x[:, ::-1, 1::2, 4:1:-2],
    ),
    "expand": (
        ("z",),
        {"shape": (2, 2, 3, 4, 5)},
        lambda x, z: np.broadcast_to(z, (2, 2, 3, 4, 5)),
    ),
    "tile": (("x",), {"repeats": (1, 2, 1, 3)}, lambda x, z: np.tile(x, (1, 2, 1, 3))),
    "repeat": (
        ("x",),
        {"repeats": (1, 1, 2, 3)},
        lambda x, z: x.repeat(2, axis=2).repeat(3, axis=3),
    ),
    "stretch": (("x", "v"), {"repeats": (1, 1, 2, 3)}, lambda x, z: stretched(x)),
    "rearrange": (
        ("x",),
        {"factors": (2, 3, 2, 2, 5), "perm": (0, 3, 1, 2, 4), "shape": (2, 6, 10)},
        lambda x, z: x.reshape(2, 3, 2, 2, 5).transpose(0, 3, 1, 2, 4).reshape(2, 6, 10),
    ),
    "take": (
        ("x",),
        {"axis": 3, "indices": (4, 4, 4, 0, 2, 4, 3, 0)},
        lambda x, z: x[..., [4, 4, 4, 0, 2, 4, 3, 0]],
    ),
    **{
        f"pad {mode}": (
            ("x", "v") if mode == "constant" else ("x",),
            {"pads": (0, 1, 2, 3, 0, 0, 3, 1), "mode": mode},
            lambda x, z, mode=mode: np.pad(x, ((0, 0), (1, 0), (2, 3), (3, 1)), mode=mode),
        )
        for mode in ("constant", "edge", "reflect", "wrap")
    },
}
"""Operators that only move elements, with what NumPy makes of them."""


@pytest.mark.parametrize("kind", MOVES)
def test_a_move_means_what_numpy_says(kind: str):
    names, attrs, meaning = MOVES[kind]
    data = {
        name: np.arange(type.elements, dtype=np.float32).reshape(type.shape) + number / 2
        for number, (name, type) in enumerate(TYPES.items())
    } | {"v": np.zeros(1, np.float32)}
    op = make_op(kind.split()[0], names, TYPES, "y", attrs=attrs)

    found = move(parts_of(op, TYPES), tuple(data[name] for name in names), op.result.type.shape)

    assert is_move(op)
    assert np.array_equal(found, meaning(data["x"], data["z"]))


@pytest.mark.parametrize("kind", MOVES)
def test_the_parts_of_a_move_write_every_element_once(kind: str):
    names, attrs, _ = MOVES[kind]
    op = make_op(kind.split()[0], names, TYPES, "y", attrs=attrs)
    writes = np.zeros(op.result.type.elements, np.int64)

    for part in parts_of(op, TYPES):
        part.out.region(part.domain).within(writes)[...] += 1

    assert (writes == 1).all()


def test_every_move_is_compared():
    moves = {spec.kind for spec in OPS.values() if spec.family is Family.MOVE}
    assert moves == {kind.split()[0] for kind in MOVES}


def reads(axis: AxisMap, outputs: range, extent: int) -> list[set[int]]:
    """Return the indices that each tap reads."""
    return [
        {
            index
            for output in outputs
            if 0 <= (index := axis.first + axis.step * output + axis.dilation * tap) < extent
        }
        for tap in range(axis.taps)
    ]


@given(
    st.builds(
        AxisMap,
        first=st.integers(-3, 2),
        step=st.integers(1, 3),
        taps=st.integers(1, 4),
        dilation=st.integers(1, 3),
    ),
    st.integers(0, 3),
    st.integers(1, 5),
)
def test_a_range_holds_all_that_is_read_and_ends_where_that_ends(
    axis: AxisMap, start: int, size: int
):
    extent = 40
    by_tap = reads(axis, range(start, start + size), extent)
    touched = set[int]().union(*by_tap)
    if not touched:
        return
    found = axis.range(Range(start, start + size), extent)

    assert found.start <= min(touched)
    assert found.stop == max(touched) + 1
    if axis.taps > 1:
        lines = axis.lines(Range(start, start + size), extent)
        assert len(touched) <= lines <= sum(map(len, by_tap))


def test_what_repeats_is_read_once():
    assert AxisMap(step=0).range(Range(3, 9), 1) == Range(0, 1)
    assert AxisMap(step=0).lines(Range(3, 9), 1) == 1
    assert AxisMap(step=0, taps=7).lines(Range(0, 1), 7) == 7


def test_rows_of_a_tensor_lie_one_after_the_other():
    assert dense_strides((2, 3, 5)) == (15, 5, 1)
