"""Whole networks with tiles out of order, operator by operator: compiled, simulated, compared.

    python -m benchmarks.flexer_networks
    python -m benchmarks.flexer_networks --network squeezenet --arch flexer-arch1

Rows are appended to ``benchmarks/results/flexer_networks.csv``; pairs that stand there are not run
again, so a run that was stopped goes on. The table is printed, and written beside the rows. The
exit code is 1 if a network could not be verified.
"""

import argparse
import logging
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from accnn.compiler.driver import compile
from accnn.compiler.options import CompileOptions
from accnn.ir.report import VerificationStatus
from accnn.models.zoo.build import build
from benchmarks.rows import append_rows, read_rows

from .networks import RESULTS, Row, markdown, row_of

IMAGE_SIZES = {"vgg16": 224, "resnet50": 224, "squeezenet": 224, "yolov2": 416}
"""Networks of Flexer's evaluation and their input [pixel]."""

ARCHS = ("flexer-arch1", "flexer-arch5", "flexer-arch8")
_LOG = logging.getLogger("benchmarks.flexer_networks")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what the command line asks for; return the exit code."""
    chosen = _parser().parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    chosen.output.mkdir(parents=True, exist_ok=True)
    path = chosen.output / "flexer_networks.csv"
    rows = read_rows(path, Row)
    done = {(row.network, row.arch) for row in rows}
    for network in chosen.network:
        for arch in chosen.arch:
            if (network, arch) not in done:
                rows.append(measure(network, arch))
                append_rows(path, Row, rows[-1:])
    text = markdown(rows)
    (chosen.output / "flexer_networks.md").write_text(text, encoding="utf-8")
    sys.stdout.write(text)
    return int(any(row.verdict != VerificationStatus.VERIFIED for row in rows))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.flexer_networks", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "--network", nargs="+", choices=list(IMAGE_SIZES), default=list(IMAGE_SIZES)
    )
    parser.add_argument("--arch", nargs="+", default=list(ARCHS))
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of results")
    return parser


def measure(network: str, arch: str) -> Row:
    """Compile, simulate and verify one network on one machine."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{network}.onnx"
        model = build(network, image_size=IMAGE_SIZES[network])
        path.write_bytes(model.SerializeToString())
        result = compile(path, arch=arch, options=CompileOptions(tiles="flexer", fuse="off"))
    row = row_of(network, arch, result.report)
    _LOG.info("%s on %s: %s", network, arch, row.verdict)
    return row


if __name__ == "__main__":
    sys.exit(main())
