"""Compiled loops may run as Python here (``tests/mutants``): their hashes wrap around silently."""

from collections.abc import Iterator

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def _numbers_wrap_around() -> Iterator[None]:
    with np.errstate(over="ignore"):
        yield
