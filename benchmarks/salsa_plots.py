"""Figures 4 and 6 of SALSA's paper: what a search looks at, and energy against time."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from numpy.typing import NDArray

mpl.use("Agg")
from matplotlib import pyplot as plt

_MICRO = 1e6


def draw_distribution(visited: NDArray[np.float64], drawn: NDArray[np.float64], path: Path) -> None:
    """Draw the energies of orders that annealing looks at, and of random ones."""
    figure, panel = plt.subplots(figsize=(7, 4), layout="constrained")
    most = float(np.quantile(drawn, 0.99)) / _MICRO
    bins = np.linspace(float(visited.min()) / _MICRO, most, 60)
    panel.hist(drawn / _MICRO, bins=bins, alpha=0.6, label="random orders")
    panel.hist(visited / _MICRO, bins=bins, alpha=0.6, label="simulated annealing")
    panel.set_xlabel("energy [uJ]")
    panel.set_ylabel("orders")
    panel.set_title("AlexNet layer 2 on eyeriss, best allocation of each order")
    panel.legend()
    figure.savefig(path, dpi=150, metadata={"Software": None})
    plt.close(figure)


def draw_tradeoff(points: Sequence[tuple[str, float, float]], path: Path) -> None:
    """Draw energy [pJ] over CPU time [s] of several searches."""
    figure, panel = plt.subplots(figsize=(7, 4), layout="constrained")
    for name, energy, seconds in points:
        marker = "*" if name == "SALSA" else "o"
        panel.plot(seconds, energy / _MICRO, marker, markersize=12 if marker == "*" else 6)
        panel.annotate(name, (seconds, energy / _MICRO), xytext=(5, 5), textcoords="offset points")
    panel.set_xscale("log")
    panel.set_xlabel("CPU time [s]")
    panel.set_ylabel("energy [uJ]")
    panel.set_title("MobileNetV2 layer 3 on eyeriss")
    figure.savefig(path, dpi=150, metadata={"Software": None})
    plt.close(figure)
