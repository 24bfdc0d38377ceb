"""Pink noise: spectrum, scale, determinism."""

import numpy as np
import pytest

from accnn.models.data.images import pink_noise


def test_the_power_falls_as_one_over_f_squared():
    images = pink_noise((64, 64, 64), 0).astype(float)
    power = (np.abs(np.fft.fft2(images)) ** 2).mean(axis=0)

    assert power[0, 4] / power[0, 16] == pytest.approx(16, rel=0.5)


@pytest.mark.parametrize("shape", [(1, 3, 224, 224), (1000, 16), (4, 1, 1), (50000,)])
def test_the_variance_is_one(shape):
    noise = pink_noise(shape, 1)

    assert noise.shape == shape
    assert noise.dtype == np.float32
    assert 0.2 < noise.std() < 3


def test_the_expected_variance_is_one():
    assert pink_noise((400, 3, 16, 16), 1).var() == pytest.approx(1, rel=0.1)


def test_same_seed_gives_same_bytes():
    assert pink_noise((2, 8, 8), 5).tobytes() == pink_noise((2, 8, 8), 5).tobytes()
    assert pink_noise((2, 8, 8), 5).tobytes() != pink_noise((2, 8, 8), 6).tobytes()


@pytest.mark.parametrize("shape", [(), (0, 3), (1,), (1, 1, 1, 1)])
def test_degenerate_shapes_are_finite(shape):
    noise = pink_noise(shape, 0)

    assert noise.shape == shape
    assert np.isfinite(noise).all()
