"""The helper that gives the ``light_*`` networks weights."""

import numpy as np
import pytest

from accnn.models.data.images import pink_noise
from accnn.models.session import make_session, run
from tests.light import NAMES, light


def test_all_networks_of_the_package_are_there():
    assert len(NAMES) == 9


@pytest.mark.parametrize("name", ["light_shufflenet", "light_squeezenet"])
def test_outputs_are_sane_and_differ_between_images(name: str):
    model = light(name)
    weights = {tensor.name for tensor in model.graph.initializer}
    (given,) = (value.name for value in model.graph.input if value.name not in weights)
    session = make_session(model)

    first, second = (
        next(iter(run(session, {given: pink_noise((1, 3, 224, 224), seed)}).values()))
        for seed in range(2)
    )

    assert np.isfinite(first).all()
    assert not np.allclose(first, second)


def test_another_seed_gives_other_weights():
    assert light("light_squeezenet", 0) != light("light_squeezenet", 1)
