"""Colours of the charts can be told apart by everybody, on light and dark ground.

Colour vision deficiency is simulated as in Machado, Oliveira and Fernandes, "A
Physiologically-based Model for Simulation of Color Vision Deficiency", IEEE TVCG 15(6), 2009, at
full severity; differences are Euclidean in Oklab (B. Ottosson, 2020). Contrast is that of WCAG 2.1.
"""

import itertools
import re
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import accnn.compiler.report.html.page as page

NAMES = ("blue", "red", "teal", "purple", "ochre", "slate")
LEAST_DIFFERENCE = 0.09
STYLE = (Path(page.__file__).parent / "templates" / "report.css").read_text()
LIGHT, DARK = re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)

VISION = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
}

Colour = npt.NDArray[np.float64]


def colours(theme: str) -> dict[str, Colour]:
    """Return linear RGB by name."""
    found = re.findall(r"--(\w+): #(\w{2})(\w{2})(\w{2});", theme)
    return {name: linear([int(part, 16) / 255 for part in parts]) for name, *parts in found}


def linear(values: list[float]) -> Colour:
    encoded = np.array(values)
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)


def oklab(colour: Colour) -> Colour:
    cone = np.array(
        [
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ]
    )
    lab = np.array(
        [
            [0.2104542553, 0.7936177850, -0.0040720468],
            [1.9779984951, -2.4285922050, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.8086757660],
        ]
    )
    return lab @ np.cbrt(np.clip(cone @ colour, 0, None))


def contrast(one: Colour, other: Colour) -> float:
    low, high = sorted(float(np.array([0.2126, 0.7152, 0.0722]) @ item) for item in (one, other))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_any_two_colours_differ(theme: str, vision: str):
    found = colours(theme)

    for one, other in itertools.combinations(NAMES, 2):
        seen = [oklab(np.clip(VISION[vision] @ found[name], 0, 1)) for name in (one, other)]
        assert np.linalg.norm(seen[0] - seen[1]) >= LEAST_DIFFERENCE, (one, other)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("ground", ["card", "page"])
def test_colours_stand_out_and_text_is_readable(theme: str, ground: str):
    found = colours(theme)

    assert all(contrast(found[name], found[ground]) >= 3 for name in NAMES)
    text = ("ink", "dim", "link", "good", "bad", "open")
    assert all(contrast(found[name], found[ground]) >= 4.5 for name in text)
