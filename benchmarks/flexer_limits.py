"""What the limits of the out-of-order search lose, against wider ones.

    python -m benchmarks.flexer_limits
    python -m benchmarks.flexer_limits --network squeezenet --arch flexer-arch5 --layers 4

The same layers with the options as they are, and with one of them wider: more sets and operations
looked at in each step (beam, window, trials), more steps of the list scheduler, more patterns of
blocks, tilings of more operations and of more sizes. Shown is cycles times bytes over that of the
options as they are: geometric mean, least, most, and the CPU seconds. The default option is the
search of the compiler: the best of static orders, blocks and the list scheduler; *list scheduler*
is that one alone.

References:
    Min, Kwon, Egger: Flexer: Out-of-Order Scheduling for Multi-NPUs. CGO 2023, section 4.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from accnn.backend.load import load_architecture
from accnn.passes.scheduling.flexer.candidate import SearchOutcome
from accnn.passes.scheduling.flexer.latency import TileTimer
from accnn.passes.scheduling.flexer.layer import schedule_layer
from accnn.passes.scheduling.flexer.options import FlexerOptions

from .conv_layers import TABLES, Row, distinct
from .cosa import geomean

_PLAIN = FlexerOptions()
WIDER: Mapping[str, FlexerOptions] = {
    "beam, trials 32 and window 192": replace(_PLAIN, beam=32, trials=32, window=192),
    "steps 64,000": replace(_PLAIN, steps=64_000),
    "blocks 3,840": replace(_PLAIN, block_orders=3_840),
    "tilings of 4,096 operations": replace(_PLAIN, max_ops=4_096, more_ops=4_096),
    "tile sizes 1.25 apart": replace(_PLAIN, ratio=1.25),
}
"""Options with one limit moved, by what the table calls them."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="benchmarks.flexer_limits", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--network", choices=sorted(TABLES), default="vgg16")
    parser.add_argument("--arch", default="flexer-arch1")
    parser.add_argument("--layers", type=int, default=99, help="how many, evenly picked [all]")
    chosen = parser.parse_args(arguments)
    every = distinct(TABLES[chosen.network]())
    rows = every[:: max(1, len(every) // chosen.layers)][: chosen.layers]
    for line in _lines(chosen.network, chosen.arch, rows):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    return 0


def _lines(network: str, name: str, rows: Sequence[Row]) -> Iterator[str]:
    arch = load_architecture(name)
    timer = TileTimer(arch)

    def searched(options: FlexerOptions) -> list[SearchOutcome]:
        return [schedule_layer(row.layer, arch, options, timer) for row in rows]

    yield f"### Limits of the search: {network} on {name}, {len(rows)} layers"
    yield ""
    yield "| wider | compiler | least | most | list scheduler | least | most | CPU s |"
    yield "|---|---|---|---|---|---|---|---|"
    plain, listed = searched(_PLAIN), searched(_alone(_PLAIN))
    yield f"| nothing | 1 | 1 | 1 | 1 | 1 | 1 | {_seconds(plain):.0f} |"
    for told, options in WIDER.items():
        best, free = searched(options), searched(_alone(options))
        of_best = [new.best.value / old.best.value for new, old in zip(best, plain, strict=True)]
        of_free = [_free(new) / _free(old) for new, old in zip(free, listed, strict=True)]
        cells = [f"{value:.3f}" for own in (of_best, of_free) for value in _three(own)]
        yield f"| {told} | {' | '.join(cells)} | {_seconds(best):.0f} |"


def _alone(options: FlexerOptions) -> FlexerOptions:
    """Return the options of the list scheduler by itself."""
    return replace(options, block_orders=0, keep_free=True)


def _free(found: SearchOutcome) -> float:
    return found.best.value if found.free is None else found.free.value


def _three(ratios: Sequence[float]) -> tuple[float, float, float]:
    return geomean(ratios), min(ratios), max(ratios)


def _seconds(found: Sequence[SearchOutcome]) -> float:
    return sum(item.effort.cpu_seconds for item in found)


if __name__ == "__main__":
    sys.exit(main())
