"""Which networks of the zoo compile, and whether the simulator computes what onnxruntime does.

    python -m benchmarks.zoo --small
    python -m benchmarks.zoo --network bert_base vit_b_16 --arch edge-fp32

Mappers and schedulers are those that take no time: what a program computes does not depend on
them. The table is printed, and written to ``benchmarks/results/zoo.md``. The exit code is 1 if a
network compiled and was not verified.
"""

import argparse
import logging
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from accnn.compiler.driver import compile
from accnn.compiler.options import CompileOptions
from accnn.ir.errors import InfeasibleError, InputError
from accnn.ir.report import Report, VerificationStatus
from accnn.models.session import save_model
from accnn.models.zoo.build import build
from accnn.models.zoo.registry import NETWORKS, find, published

RESULTS = Path(__file__).with_name("results")
ARCHS = ("edge-fp32", "edge-1m", "simba")
QUICK = CompileOptions(mapper="output-stationary", scheduler="in-order", races=False, samples=2)
LEAST_SIZE = {"inception_v3": 96}
_REFUSED = "refused"
_LOG = logging.getLogger("benchmarks.zoo")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One network on one machine.

    Attributes:
        network: Name in the zoo.
        arch: Name in the catalogue.
        verdict: What the comparison with onnxruntime says, or ``refused``.
        detail: Why it was refused, or how well a quantised network keeps the float one's outputs.
    """

    network: str
    arch: str
    verdict: str
    detail: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Compile what the command line asks for; return the exit code."""
    chosen = _parser().parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    rows = list(measure(chosen.network, chosen.arch, small=chosen.small))
    table = markdown(rows, chosen.arch)
    chosen.output.mkdir(parents=True, exist_ok=True)
    (chosen.output / "zoo.md").write_text(table, encoding="utf-8")
    sys.stdout.write(table)
    right = (VerificationStatus.VERIFIED, _REFUSED)
    return int(any(row.verdict not in right for row in rows))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.zoo", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    names = [network.name for network in NETWORKS]
    parser.add_argument("--network", nargs="+", choices=names, default=names)
    parser.add_argument("--arch", nargs="+", default=list(ARCHS))
    parser.add_argument("--small", action="store_true", help="small images, a quarter of channels")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of results")
    return parser


def measure(networks: Iterable[str], archs: Sequence[str], *, small: bool) -> Iterator[Row]:
    """Compile, simulate and verify, one row after the other."""
    for name in networks:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{name}.onnx"
            size = {"image_size": LEAST_SIZE.get(name, 64), "sequence": 16}
            save_model(build(name, **size, width=0.25) if small else build(name), path)
            for arch in archs:
                row = _row(name, arch, path)
                _LOG.info("%s on %s: %s %s", name, arch, row.verdict, row.detail)
                yield row


def _row(network: str, arch: str, path: Path) -> Row:
    try:
        report = compile(path, arch=arch, options=QUICK).report
    except (InputError, InfeasibleError) as error:
        return Row(network=network, arch=arch, verdict=_REFUSED, detail=error.message)
    verdict = report.verification.status.value
    return Row(network=network, arch=arch, verdict=verdict, detail=_snr(report))


def _snr(report: Report) -> str:
    found = report.quantization
    return "" if found is None or found.snr_db is None else f"{found.snr_db:.1f} dB"


def markdown(rows: Sequence[Row], archs: Sequence[str]) -> str:
    """Return a line for each network, with its size, and a column for each machine."""
    lines = [
        f"| network | parameters | GMACs | operators | source | {' | '.join(archs)} |",
        f"|---|---:|---:|---:|---|{'---|' * len(archs)}",
    ]
    for name in dict.fromkeys(row.network for row in rows):
        cells = {row.arch: row for row in rows if row.network == name}
        found = " | ".join(_cell(cells[arch]) for arch in archs)
        lines.append(f"{_size(name)} {found} |")
    return "\n".join(lines) + "\n"


def _size(name: str) -> str:
    network = find(name)
    built = published(network)
    figures = f"{network.parameters:,} | {built.macs / 1e9:.3f} | {built.operator_count}"
    return f"| {name} | {figures} | {network.source} |"


def _cell(row: Row) -> str:
    return (
        f"{row.verdict}: {row.detail}"
        if row.verdict == _REFUSED
        else " ".join(part for part in (row.verdict, row.detail) if part)
    )


if __name__ == "__main__":
    sys.exit(main())
