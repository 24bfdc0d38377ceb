"""Figures 3 and 4 of COSMA's paper, and off-chip bytes over scratchpad sizes."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt

SERIES = (
    ("default order, Belady", "default_belady"),
    ("default order, greedy", "default_greedy"),
    ("MPMF order, Belady", "mpmf_belady"),
    ("MPMF order, greedy", "mpmf_greedy"),
    ("COSMA (optimal)", "optimum"),
)
_MEGA = 1e6


class Measured(Protocol):
    """What a bar is drawn from."""

    @property
    def network(self) -> str:
        """Name of the network."""
        ...

    @property
    def parameters(self) -> bool:
        """Whether parameters count."""
        ...

    @property
    def budget(self) -> str:
        """Name of the budget."""
        ...


def draw_bars(rows: Sequence[Measured], networks: Sequence[str], path: Path) -> None:
    """Draw non-compulsory megabytes of every scheme, one panel per network."""
    columns = min(5, len(networks))
    lines = -(-len(networks) // columns)
    figure, panels = plt.subplots(
        lines, columns, figsize=(4 * columns, 3 * lines), squeeze=False, layout="constrained"
    )
    for panel, network in zip(panels.flat, networks, strict=False):
        own = [row for row in rows if row.network == network]
        labels = [row.budget.upper() + ("p" if row.parameters else "") for row in own]
        for index, (title, attribute) in enumerate(SERIES):
            heights = [getattr(row, attribute) / _MEGA for row in own]
            places = [position + 0.16 * (index - 2) for position in range(len(own))]
            panel.bar(places, heights, width=0.16, label=title)
        panel.set_xticks(range(len(own)), labels)
        panel.set_title(network)
        panel.set_ylabel("non-compulsory MB")
    for panel in list(panels.flat)[len(networks) :]:
        panel.set_visible(False)
    figure.legend(*panels.flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)


def draw_sweep(curves: Mapping[str, Iterable[tuple[int, int]]], path: Path) -> None:
    """Draw off-chip megabytes over scratchpad kibibytes, one line per network."""
    figure, panel = plt.subplots(figsize=(8, 5), layout="constrained")
    for network, points in curves.items():
        sizes, moved = zip(*points, strict=True)
        panel.plot(
            [size / 1024 for size in sizes],
            [amount / _MEGA for amount in moved],
            drawstyle="steps-post",
            marker=".",
            label=network,
        )
    panel.set_xscale("log", base=2)
    panel.set_yscale("log")
    panel.set_xlabel("scratchpad [KiB]")
    panel.set_ylabel("off-chip [MB], weights included")
    panel.grid(visible=True, which="both", alpha=0.3)
    panel.legend()
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)
