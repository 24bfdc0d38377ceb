"""Build a network, compile it, and look at what the compiler found.

python examples/compile_resnet.py                      # ResNet-50, 224x224, on Simba
python examples/compile_resnet.py resnet18 64 edge-1m  # network, image size, architecture
"""

import sys
from pathlib import Path

import accnn
from accnn.models.zoo.build import build


def main(network: str = "resnet50", image_size: str = "224", arch: str = "simba.toml") -> None:
    path = Path(f"{network}.onnx")
    path.write_bytes(build(network, image_size=int(image_size)).SerializeToString())

    result = accnn.compile(path, arch=arch, options=accnn.CompileOptions(seed=1))

    report = result.report
    verdict = report.verification
    print(f"{verdict.status}: {verdict.mismatches} of {verdict.elements} elements differ")
    print(f"{report.totals.cycles_simulated} cycles, {report.totals.offchip_bytes} bytes off chip")
    slowest = max(report.operators, key=lambda item: item.cycles or 0)
    print(f"slowest operator: {slowest.name}, {slowest.cycles} cycles, loop nest:\n{slowest.nest}")

    accnn.write_results(result, Path(f"{network}.acc"))


if __name__ == "__main__":
    main(*sys.argv[1:])
