"""Which benchmarks there are: the small form of each, and those that have none."""

from collections.abc import Mapping

from ..papers.claim import Command
from ..papers.registry import CLAIMS

_OTHERS = (
    Command(module="benchmarks.quality"),
    Command(module="benchmarks.zoo", quick="--small --network squeezenet mobilenetv2"),
    Command(
        module="benchmarks.networks",
        quick="--network squeezenet --arch simba --image-size 64 --mapper output-stationary",
    ),
    Command(module="benchmarks.compiler", quick="--network squeezenet --image-size 64"),
    Command(module="benchmarks.model_vs_simulator", quick="--network squeezenet --arch edge-1m"),
    Command(module="benchmarks.cosma_end_to_end", quick="--network squeezenet --image-size 64"),
    Command(module="benchmarks.fusion", quick="--network squeezenet --arch simba"),
    Command(module="benchmarks.fusion_block"),
    Command(module="benchmarks.fusion_wide"),
    Command(module="benchmarks.fusion_sweep", quick="--network squeezenet --size 65536 131072"),
    Command(
        module="benchmarks.across",
        quick="--network squeezenet --arch flexer-arch8 --tiles static",
    ),
    Command(module="benchmarks.flexer_networks", quick="--network squeezenet --arch flexer-arch1"),
    Command(module="benchmarks.engines", quick="--network squeezenet --layers 1"),
    Command(
        module="benchmarks.explore", quick="--points 4 --mapper output-stationary --processes 1"
    ),
)

_OTHERS_LAST = (
    Command(
        module="benchmarks.noc",
        quick="--arch simba --network resnet50 --layers 3 --paper-nodes 5 --most 20000"
        " --mapper cosa,cosa-paper,salsa,random,timeloop-hybrid --draws 50 --drawn-most 5000",
    ),
    Command(module="benchmarks.noc_programs", quick="--network squeezenet --image-size 64"),
    Command(
        module="benchmarks.flexer_limits",
        quick="--network squeezenet --arch flexer-arch5 --layers 1",
    ),
    Command(
        module="benchmarks.flexer_baselines",
        quick="--network vgg16 --arch flexer-arch5 --layer conv1_1",
    ),
)

WITHOUT: Mapping[str, str] = {
    "benchmarks.cosa_random": "goes on where it stopped, for an hour",
    "benchmarks.cosma_sweep": "is one long sweep",
    "benchmarks.races": "measures seconds of programs that are named",
}
"""Benchmarks that are not run, and why."""

SMALL: tuple[Command, ...] = tuple(
    dict.fromkeys(
        (
            *_OTHERS,
            *(claim.command for claim in CLAIMS if claim.command is not None),
            *_OTHERS_LAST,
        )
    )
)
"""All commands, what is quickest first."""
