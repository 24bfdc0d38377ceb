"""Install accnn for several Pythons and compare what each of them compiles, byte by byte.

    python -m tests.pythons python3.11 python3.12 python3.13

Each gets an environment of its own, in a folder that goes with the run. What is compared: the
files of a result that hold no seconds. The exit code is 1 where two Pythons differ.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILES = ("model.onnx", "module.ir", "program.acc", "program.asm", "trace.json")


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 1 where two Pythons write other bytes, else 0."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("python", nargs="+", help="interpreters, at least two")
    parser.add_argument("--network", default="squeezenet")
    parser.add_argument("--image-size", default="64")
    parser.add_argument("--arch", default="edge-1m")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        found = {
            python: compiled(python, Path(folder) / str(number), chosen)
            for number, python in enumerate(chosen.python)
        }
    first = next(iter(found.values()))
    for python, digests in found.items():
        same = [name for name in FILES if digests[name] == first[name]]
        print(f"{python}: {len(same)} of {len(FILES)} files equal those of {chosen.python[0]}")
    return int(any(digests != first for digests in found.values()))


def compiled(python: str, folder: Path, chosen: argparse.Namespace) -> Mapping[str, str]:
    """Return the digest of each file that accnn writes under one Python.

    Args:
        python: The interpreter.
        folder: For its environment and results; does not exist yet.
        chosen: Network and machine.

    Raises:
        subprocess.CalledProcessError: A step fails; its output has been shown.
    """
    environment = {**os.environ, "ACCNN_CACHE": str(folder / "cache")}

    def run(*words: str) -> None:
        subprocess.run(words, check=True, env=environment, stdout=subprocess.DEVNULL)

    run(python, "-m", "venv", str(folder / "venv"))
    own = folder / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
    run(str(own / "python"), "-m", "pip", "install", "--quiet", str(ROOT))
    network, result = str(folder / "network.onnx"), folder / "network.acc"
    size = ("--image-size", chosen.image_size)
    run(str(own / "acc-zoo"), chosen.network, *size, "-o", network)
    run(str(own / "acc-compile"), network, "--arch", chosen.arch, "-q", "-o", str(result))
    return {name: hashlib.sha256((result / name).read_bytes()).hexdigest() for name in FILES}


if __name__ == "__main__":
    sys.exit(main())
