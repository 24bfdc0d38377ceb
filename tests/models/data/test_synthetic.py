"""Made-up inputs: noise, indices in range, masks of padded texts."""

import numpy as np
import pytest

from accnn.models.data.calibration import InputSpec, input_specs
from accnn.models.data.synthetic import made_up, synthetic
from accnn.models.zoo import build

IMAGE = InputSpec(name="x", shape=(2, 3), dtype=np.dtype(np.float32))


def spec(dtype: type, *shape: int, below: int = 0) -> InputSpec:
    return InputSpec(name="x", shape=shape, dtype=np.dtype(dtype), below=below)


def test_samples_are_seeded_and_differ():
    first, second = (list(synthetic((IMAGE,), (0, 1), 2)) for _ in range(2))

    assert first[0]["x"].tobytes() == second[0]["x"].tobytes()
    assert first[0]["x"].tobytes() != first[1]["x"].tobytes()
    assert first[0]["x"].dtype == np.float32


def test_indices_are_uniform_over_what_they_index():
    found = made_up(spec(np.int64, 1000, below=7), (0,))

    assert found.dtype == np.int64
    assert np.bincount(found, minlength=7).min() > 100
    assert found.max() == 6


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.bool_])
def test_other_wide_integers_are_masks_of_padded_texts(dtype: type):
    found = made_up(spec(dtype, 50, 16), (0,))
    lengths = found.sum(axis=1, dtype=int)

    assert found.dtype == dtype
    assert (np.sort(found, axis=1)[:, ::-1] == found).all()
    assert (lengths.min(), lengths.max()) == (8, 16)


@pytest.mark.parametrize(("dtype", "low", "high"), [(np.int8, -128, 127), (np.uint8, 0, 255)])
def test_narrow_integers_fill_their_range(dtype: type, low: int, high: int):
    found = made_up(spec(dtype, 20_000), (0,))

    assert (found.min(), found.max()) == (low, high)


def test_a_scalar_mask_is_one():
    assert made_up(spec(np.int64), (0,)) == 1


def test_words_and_masks_of_a_network_are_told_apart():
    specs = input_specs(build("bert_tiny", sequence=16, width=0.25))

    assert {item.name: item.below for item in specs} == {
        "input_ids": 30522,
        "token_type_ids": 2,
        "attention_mask": 0,
    }
