"""What compiling takes: seconds of processors and of a clock, and memory; cold, then warm.

    python -m benchmarks.compiler
    python -m benchmarks.compiler --network squeezenet --arch edge-1m --processes 1

``cold`` begins with an empty folder of answers, ``warm`` compiles the same once more; ``help`` is
``acc-compile --help``. Each is a process of its own, as users start it. Seconds of processors are
those of it and of all processes that it starts (user and system); memory is that of the largest of
them. Python keeps bytecode, whatever the environment says, as it does where a package is installed.
The table is printed, and written to ``benchmarks/results/compiler.csv``. Not for Windows.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from accnn.models.zoo.registry import NETWORKS
from benchmarks.rows import write_rows

RESULTS = Path(__file__).with_name("results")
_COMMAND = "from accnn.compiler.cli.start import {0}; {0}()"
"""A command, for the Python that runs this."""

_MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024
"""Of the largest resident set that the system tells [byte]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One run of ``acc-compile``.

    Attributes:
        network: Name in the zoo.
        arch: Name in the catalogue.
        run: ``cold``, ``warm`` or ``help``.
        cpu_seconds: Of all its processes [s].
        wall_seconds: From its start to its end [s].
        megabytes: Most that its largest process had [10^6 byte].
        code: How it ended.
    """

    network: str
    arch: str
    run: str
    cpu_seconds: float
    wall_seconds: float
    megabytes: float
    code: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what the command line asks for; return 1 if a run failed."""
    chosen = _parser().parse_args(arguments)
    rows = list(measure(chosen.network, chosen.arch, chosen.image_size, chosen.processes))
    write_rows(chosen.output, Row, rows)
    sys.stdout.write(markdown(rows))
    return int(any(row.code for row in rows))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.compiler", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    names = [network.name for network in NETWORKS]
    parser.add_argument("--network", nargs="+", choices=names, default=["resnet50"])
    parser.add_argument("--arch", nargs="+", default=["simba"])
    parser.add_argument("--image-size", type=int, default=224, help="height and width [pixel]")
    parser.add_argument("--processes", type=int, default=2, help="that look for nests")
    parser.add_argument("--output", type=Path, default=RESULTS / "compiler.csv", help="the rows")
    return parser


def measure(
    networks: Sequence[str], archs: Sequence[str], image_size: int, processes: int
) -> Iterator[Row]:
    """Yield the runs of every network on every machine, cold before warm.

    Args:
        networks: Names in the zoo.
        archs: Names in the catalogue.
        image_size: Height and width of inputs [pixel].
        processes: How many look for loop nests.
    """
    with tempfile.TemporaryDirectory() as folder:
        for network in networks:
            path = Path(folder) / f"{network}.onnx"
            words = [network, "--image-size", str(image_size), "--output", str(path), "--quiet"]
            # In a child: what this process holds counts as memory of those that it starts.
            subprocess.run([sys.executable, "-c", _COMMAND.format("acc_zoo"), *words], check=True)
            for arch in archs:
                answers = Path(folder) / f"{network}-{arch}"
                words = [str(path), "--arch", arch, "--processes", str(processes), "--quiet"]
                words += ["--output", str(Path(folder) / "results")]
                for run, given in (("cold", words), ("warm", words), ("help", ["--help"])):
                    yield run_once(network, arch, run, given, answers)


def run_once(network: str, arch: str, run: str, words: Sequence[str], answers: Path) -> Row:
    """Return what one run takes.

    Args:
        network: Name of the row.
        arch: Name of the row.
        run: Name of the row.
        words: Of the command line.
        answers: Folder of remembered answers.
    """
    given = {"ACCNN_CACHE": str(answers), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": ""}
    begin = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, "-c", _COMMAND.format("acc_compile"), *words],
        env={**os.environ, **given},
        stdout=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return Row(
        network=network,
        arch=arch,
        run=run,
        cpu_seconds=used.ru_utime + used.ru_stime,
        wall_seconds=time.perf_counter() - begin,
        megabytes=used.ru_maxrss * _MAXRSS_UNIT / 1e6,
        code=child.returncode,
    )


def markdown(rows: Sequence[Row]) -> str:
    """Return the rows as a table."""
    lines = ["| network | machine | run | CPU [s] | wall [s] | largest process [MB] | exit code |"]
    lines += ["|---|---|---|---:|---:|---:|---:|"]
    lines += [
        f"| {row.network} | {row.arch} | {row.run} | {row.cpu_seconds:.2f} "
        f"| {row.wall_seconds:.2f} | {row.megabytes:.0f} | {row.code} |"
        for row in rows
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
