"""Load a compiled program and run it; the ONNX file is not needed any more.

acc-zoo squeezenet && acc-compile squeezenet.onnx --arch edge-1m
python examples/run_program.py squeezenet.acc/program.acc
"""

import sys
from pathlib import Path

import numpy as np

from accnn.backend.package import load_package
from accnn.runtime_sim.simulate import simulate


def main(path: str) -> None:
    package = load_package(Path(path))
    rng = np.random.default_rng(0)
    inputs = {
        port.symbol: rng.standard_normal(port.type.shape).astype(np.float32)
        for port in package.manifest.inputs
    }

    result = simulate(package.program, package.constants, inputs, detect_races=True)

    print(f"{result.cycles} cycles, {result.energy_pj / 1e6:.1f} uJ")
    for account in sorted(result.operators, key=lambda item: -item.cycles)[:3]:
        print(f"  {account.name}: {account.cycles} cycles, {account.off_chip_bytes} bytes off chip")
    for port in package.manifest.outputs:
        print(f"{port.name}: {result.outputs[port.symbol].ravel()[:4]} ...")


if __name__ == "__main__":
    main(*sys.argv[1:])
