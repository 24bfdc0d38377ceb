"""What networks move off chip over the size of the scratchpad, with fused groups and without.

    python -m benchmarks.fusion_sweep
    python -m benchmarks.fusion_sweep --resume --plot docs/figures/fusion-sweep.png

Plans of five networks on simba with a scratchpad of any size, as COSMA measures them: a row per
network, size and way in ``benchmarks/results/fusion_sweep.csv``. In the picture the smallest
scratchpad with which a network moves hardly more than is compulsory is marked.
"""

import argparse
import logging
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from accnn.backend.load import load_architecture
from accnn.compiler.driver import compile
from accnn.compiler.options import CompileOptions, VerifyMode
from accnn.ir.arch import Architecture
from accnn.ir.errors import InfeasibleError
from accnn.models.session import save_model
from accnn.models.zoo.build import build
from accnn.passes.scheduling.fusion import Fuse
from benchmarks.rows import read_rows, write_rows

RESULTS = Path(__file__).with_name("results") / "fusion_sweep.csv"
NETWORKS = ("resnet50", "resnet18", "mobilenetv2", "squeezenet", "darknet19")
SIZES = tuple(1024 * size for size in (32, 48, 64, 96, 128, 256, 512, 1024, 2048, 4096))
HARDLY_MORE = 1.02
"""How many times the compulsory bytes a network moves that is called compulsory."""

_MEGA = 1e6
_LOG = logging.getLogger("benchmarks.fusion_sweep")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One plan.

    Attributes:
        network: Name in the zoo.
        scratchpad: Its size [byte].
        fuse: What may be fused.
        bytes: Moved off chip, 0 where nothing can be planned [byte].
        compulsory: What any plan moves [byte].
        cpu_seconds: Of planning [s].
    """

    network: str
    scratchpad: int
    fuse: str
    bytes: int
    compulsory: int
    cpu_seconds: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Plan, write the rows, draw; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--network", nargs="+", default=NETWORKS, metavar="NAME")
    parser.add_argument("--size", nargs="+", type=int, default=SIZES, metavar="BYTES")
    parser.add_argument("--resume", action="store_true", help="keep the rows that are there")
    parser.add_argument("--plot", type=Path, help="picture to draw")
    parser.add_argument("--output", type=Path, default=RESULTS, help="table to write")
    chosen = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    rows = read_rows(chosen.output, Row) if chosen.resume else []
    chosen.output.parent.mkdir(parents=True, exist_ok=True)
    for network in chosen.network:
        for row in _swept(network, chosen.size, {_key(row) for row in rows}):
            rows.append(row)
            write_rows(chosen.output, Row, rows)
            _LOG.info("%s", row)
    if chosen.plot:
        draw([row for row in rows if row.network in chosen.network], chosen.plot)
    return 0


def _key(row: Row) -> tuple[str, int, str]:
    return row.network, row.scratchpad, row.fuse


def _swept(network: str, sizes: Sequence[int], known: set[tuple[str, int, str]]) -> Iterator[Row]:
    """Yield the rows of a network that are not known yet."""
    asked = [(size, fuse) for size in sizes for fuse in (Fuse.OFF, Fuse.GROUPS)]
    asked = [item for item in asked if (network, item[0], item[1].value) not in known]
    if not asked:
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{network}.onnx"
        save_model(build(network), path)
        for size, fuse in asked:
            yield _planned(network, path, size, fuse)


def _planned(network: str, path: Path, size: int, fuse: Fuse) -> Row:
    options = CompileOptions(fuse=fuse, until="schedule-cosma", verify=VerifyMode.OFF)
    before = time.process_time()
    moved = compulsory = 0
    try:
        plan = compile(path, arch=with_scratchpad(size), options=options).module.graph_schedule
        assert plan is not None
        moved, compulsory = plan.objective, plan.bound
    except InfeasibleError as error:
        _LOG.info("%s with %d byte: %s", network, size, error.message)
    return Row(
        network=network,
        scratchpad=size,
        fuse=fuse.value,
        bytes=moved,
        compulsory=compulsory,
        cpu_seconds=round(time.process_time() - before, 1),
    )


def with_scratchpad(size: int) -> Architecture:
    """Return simba with a scratchpad of another size.

    Args:
        size: [byte].
    """
    arch = load_architecture("simba")
    levels = (
        replace(level, capacity=size) if level.name == arch.scratchpad else level
        for level in arch.levels
    )
    return replace(arch, levels=tuple(levels))


def draw(rows: Sequence[Row], path: Path) -> None:
    """Draw bytes over sizes, a panel for each network.

    Args:
        rows: What was planned.
        path: The picture.
    """
    networks = list(dict.fromkeys(row.network for row in rows))
    figure, panels = plt.subplots(
        1, len(networks), figsize=(3.2 * len(networks), 3.2), squeeze=False, layout="constrained"
    )
    for panel, network in zip(panels.flat, networks, strict=True):
        _draw_network(panel, [row for row in rows if row.network == network and row.bytes])
        panel.set_title(network)
    panels.flat[0].set_ylabel("off-chip MB")
    figure.legend(*panels.flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _draw_network(panel: Axes, rows: Sequence[Row]) -> None:
    for fuse, title in ((Fuse.OFF, "operator by operator"), (Fuse.GROUPS, "fused groups")):
        own = sorted(
            (row for row in rows if row.fuse == fuse.value), key=lambda row: row.scratchpad
        )
        sizes, moved = [row.scratchpad for row in own], [row.bytes / _MEGA for row in own]
        (line,) = panel.plot(sizes, moved, marker=".", label=title)
        least = smallest(own)
        if least is not None:
            panel.axvline(least.scratchpad, color=line.get_color(), linestyle=":", linewidth=1)
            kib = f"{least.scratchpad // 1024} KiB"
            panel.annotate(kib, (least.scratchpad, max(moved)), rotation=90, va="top", ha="right")
    panel.axhline(rows[0].compulsory / _MEGA, color="gray", linestyle="--", label="compulsory")
    panel.set_xscale("log", base=2)
    panel.set_xlabel("scratchpad [byte]")
    panel.set_ylim(bottom=0)


def smallest(rows: Sequence[Row]) -> Row | None:
    """Return the smallest scratchpad with which hardly more than is compulsory is moved.

    Args:
        rows: Of one network and one way, smallest first.
    """
    return next((row for row in rows if 0 < row.bytes <= HARDLY_MORE * row.compulsory), None)


if __name__ == "__main__":
    sys.exit(main())
