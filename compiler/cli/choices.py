"""The words that options of the command line choose from, without importing what they name.

``--help`` shows them in a moment because of that; ``tests/compiler/cli/test_choices.py`` holds each
to what it names.
"""

from typing import Literal, TypeAlias

FuseName: TypeAlias = Literal["off", "epilogues", "groups"]
ObjectiveName: TypeAlias = Literal["latency", "energy", "edp", "latency-network"]
VerifyName: TypeAlias = Literal["outputs", "layers", "off"]
CalibrationName: TypeAlias = Literal["minmax", "percentile", "entropy"]
MetricName: TypeAlias = Literal["product", "latency", "transfers", "energy", "weighted"]
PriorityName: TypeAlias = Literal["best", "default", "min-transfer", "min-spill"]
MemoryName: TypeAlias = Literal["best", "eager", "default", "first-fit", "small-spill"]
CountingName: TypeAlias = Literal["accnn", "timeloop", "zigzag", "zigzag-sound"]
TimingName: TypeAlias = Literal["analytical", "network"]

MAPPER_NAMES = (
    "cosa",
    "cosa-paper",
    "salsa",
    "loma",
    "output-stationary",
    "random",
    "random-pruned",
    "timeloop-hybrid",
    "exhaustive",
)
SCHEDULER_NAMES = (
    "in-order",
    "cosma",
    "default-belady",
    "default-greedy",
    "mpmf-belady",
    "mpmf-greedy",
)
TILE_NAMES = ("static", "flexer", "static-across", "flexer-across")
