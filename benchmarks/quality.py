"""Whether programs have become worse: cycles, off-chip bytes and energy against those of before.

    python -m benchmarks.quality
    python -m benchmarks.quality --update

These figures are the same in every run, so they are compared with ``benchmarks/data/quality.csv``,
and what has grown by more than one per cent is lost quality. The exit code is 1 then, or if a
program is not verified. ``--update`` writes the file anew. Seconds take no part.
"""

import argparse
import logging
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from accnn.compiler.driver import compile
from accnn.compiler.options import CompileOptions
from accnn.ir.report import VerificationStatus
from accnn.models.session import save_model
from accnn.models.zoo.build import build
from benchmarks.rows import read_rows, write_rows

KNOWN = Path(__file__).with_name("data") / "quality.csv"
TOLERANCE = 1.01
"""How many times as much a figure may be: other versions of a solver take other ways."""

FIGURES = ("cycles", "offchip_bytes", "energy_nj")
_LOG = logging.getLogger("benchmarks.quality")


@dataclass(frozen=True, slots=True)
class Case:
    """A compilation that takes a few seconds.

    Attributes:
        network: Name in the zoo.
        size: Height and width [pixel], and length of a sequence.
        arch: Name in the catalogue.
        width: Part of the channels.
        mapper: Finds the loop nests.
        tiles: Orders the tiles.
    """

    network: str
    size: int
    arch: str
    width: float = 1.0
    mapper: str = "output-stationary"
    tiles: str = "static"


CASES = (
    Case("resnet18", 32, "flexer-arch5", width=0.125, tiles="flexer"),
    Case("squeezenet", 48, "simba", width=0.25),
    Case("resnet18", 32, "simba", width=0.125, mapper="cosa"),
    Case("bert_tiny", 16, "edge-1m"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What one program costs, as simulated.

    Attributes:
        network: Name in the zoo.
        size: Height and width [pixel], and length of a sequence.
        arch: Name in the catalogue.
        width: Part of the channels.
        mapper: Finds the loop nests.
        tiles: Orders the tiles.
        verified: Whether its outputs are onnxruntime's.
        cycles: [cycle].
        offchip_bytes: [byte].
        energy_nj: [nJ].
    """

    network: str
    size: int
    arch: str
    width: float
    mapper: str
    tiles: str
    verified: bool
    cycles: int
    offchip_bytes: int
    energy_nj: int

    @property
    def case(self) -> Case:
        """What was compiled."""
        return Case(self.network, self.size, self.arch, self.width, self.mapper, self.tiles)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, compare or update; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--update", action="store_true", help="take these figures as the new ones")
    parser.add_argument("--now", type=Path, help="write these figures there, too")
    parser.add_argument("--known", type=Path, default=KNOWN, help="file of figures")
    chosen = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    rows: list[Row] = []
    for case in CASES:
        rows.append(measured(case))
        _LOG.info("%s", rows[-1])
    if chosen.now is not None:
        write_rows(chosen.now, Row, rows)
    if chosen.update:
        write_rows(chosen.known, Row, rows)
        return 0
    losses = list(lost(read_rows(chosen.known, Row), rows))
    for loss in losses:
        _LOG.info("lost: %s", loss)
    return int(bool(losses))


def measured(case: Case) -> Row:
    """Return what a program costs.

    Args:
        case: What is compiled.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{case.network}.onnx"
        save_model(
            build(case.network, image_size=case.size, sequence=case.size, width=case.width), path
        )
        options = CompileOptions(mapper=case.mapper, tiles=case.tiles, cache=None)
        result = compile(path, arch=case.arch, options=options)
    totals = result.report.totals
    return Row(
        network=case.network,
        size=case.size,
        arch=case.arch,
        width=case.width,
        mapper=case.mapper,
        tiles=case.tiles,
        verified=result.report.verification.status is VerificationStatus.VERIFIED,
        cycles=totals.cycles_simulated or 0,
        offchip_bytes=totals.offchip_bytes or 0,
        energy_nj=round((totals.energy_pj or 0.0) / 1e3),
    )


def lost(before: Sequence[Row], now: Sequence[Row]) -> Iterator[str]:
    """Yield what has become worse, in words.

    Args:
        before: The figures that are known.
        now: Those of this run.
    """
    known = {row.case: row for row in before}
    for row in now:
        if not row.verified:
            yield f"{row.case}: not verified"
        if row.case not in known:
            yield f"{row.case}: nothing is known of it; --update writes it down"
            continue
        for name in FIGURES:
            was, value = getattr(known[row.case], name), getattr(row, name)
            if value > TOLERANCE * was:
                yield f"{row.case}: {name} {was:,} -> {value:,} ({value / was - 1:+.1%})"


if __name__ == "__main__":
    sys.exit(main())
