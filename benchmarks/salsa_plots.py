"""Figures 4 and 6 of SALSA's paper: what a search looks at, and energy against time."""

from collections.abc import Mapping, Sequence
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


def draw_tradeoff(panels: Mapping[str, Sequence[tuple[str, float, float]]], path: Path) -> None:
    """Draw energy [pJ] over CPU time [s] of several searches, one panel per layer."""
    figure, axes = plt.subplots(1, len(panels), figsize=(6 * len(panels), 4), layout="constrained")
    for panel, (title, points) in zip(axes, panels.items(), strict=True):
        least = min(energy for _, energy, _ in points)
        for number, (name, energy, seconds) in enumerate(points):
            marker = "*" if name == "SALSA" else "o"
            excess = 100 * (energy / least - 1)
            panel.plot(seconds, excess, marker, markersize=12 if marker == "*" else 6)
            shift = (0, 8 + 11 * (number % 4))
            panel.annotate(
                name, (seconds, excess), xytext=shift, textcoords="offset points", ha="center"
            )
        panel.set_xscale("log")
        panel.set_ylim(bottom=-1, top=max(5.0, *panel.get_ylim()) * 1.2)
        panel.set_xlabel("CPU time [s]")
        panel.set_ylabel("energy over the least [%]")
        panel.set_title(title)
    figure.savefig(path, dpi=100, metadata={"Software": None})
    plt.close(figure)
