"""What looking for races costs: CPU time of a simulation with and without, paired.

    python -m benchmarks.races resnet50.acc/program.acc
    python -m benchmarks.races a.acc/program.acc b.acc/program.acc --runs 9

Inputs are drawn by seed. Medians are printed, and the median of the ratios of pairs.
"""

import argparse
import statistics
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from accnn.backend.package import Package, load_package
from accnn.ir.isa.program import SymbolKind
from accnn.ir.types import DType
from accnn.runtime_sim.functional.machine import NUMPY_TYPES
from accnn.runtime_sim.simulate import simulate

Arrays = Mapping[str, npt.NDArray[Any]]


def main() -> None:
    """Time what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", nargs="+", type=Path, help="program.acc of a compilation")
    parser.add_argument("--runs", type=int, default=5, help="pairs of simulations")
    chosen = parser.parse_args()
    for path in chosen.packages:
        package = load_package(path)
        inputs = drawn_inputs(package)
        seconds(package, inputs, races=True)  # kernels are compiled, files are in memory
        pairs = [
            (seconds(package, inputs, races=True), seconds(package, inputs, races=False))
            for _ in range(chosen.runs)
        ]
        with_races, without = (statistics.median(column) for column in zip(*pairs, strict=True))
        ratio = statistics.median(one / other for one, other in pairs)
        print(f"{path}: {with_races:.2f} s with races, {without:.2f} s without, ratio {ratio:.2f}")


def drawn_inputs(package: Package) -> Arrays:
    """Return inputs of a program, by seed."""
    generator = np.random.default_rng(0)
    return {
        symbol.name: (
            generator.standard_normal(symbol.type.shape)
            if symbol.type.dtype is DType.F32
            else generator.integers(0, 2, symbol.type.shape)
        ).astype(NUMPY_TYPES[symbol.type.dtype])
        for symbol in package.program.symbols
        if symbol.kind is SymbolKind.INPUT
    }


def seconds(package: Package, inputs: Arrays, *, races: bool) -> float:
    """Return the CPU time of a simulation [s]."""
    begin = time.process_time()
    simulate(package.program, package.constants, inputs, detect_races=races)
    return time.process_time() - begin


if __name__ == "__main__":
    main()
