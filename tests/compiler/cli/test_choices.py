"""What the command line offers is what there is."""

import inspect
from typing import get_args

import pytest

from accnn.compiler.cli import acc_compile, choices
from accnn.compiler.options import CompileOptions, VerifyMode
from accnn.compiler.pipelines import GRAPH_SCHEDULERS, TILE_SCHEDULERS
from accnn.compiler.report.layer_table import LayerCounting
from accnn.models.quantisation.ranges import CalibrationMethod
from accnn.passes.mapping.problem import Objective
from accnn.passes.mapping.registry import MAPPERS
from accnn.passes.scheduling.flexer.options import Metric, Priority, SpaceRule
from accnn.passes.scheduling.fusion import Fuse


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (get_args(choices.FuseName), Fuse),
        (get_args(choices.ObjectiveName), Objective),
        (get_args(choices.VerifyName), VerifyMode),
        (get_args(choices.CalibrationName), CalibrationMethod),
        (get_args(choices.MetricName), Metric),
        (get_args(choices.PriorityName), Priority),
        (get_args(choices.MemoryName), SpaceRule),
        (get_args(choices.CountingName), LayerCounting),
        (choices.MAPPER_NAMES, MAPPERS),
        (choices.SCHEDULER_NAMES, GRAPH_SCHEDULERS),
        (choices.TILE_NAMES, TILE_SCHEDULERS),
    ],
)
def test_words_are_those_of_what_they_name(words, named):
    assert list(words) == [str(name) for name in named]


def test_defaults_are_those_of_the_library():
    options = CompileOptions()
    parameters = inspect.signature(acc_compile.acc_compile).parameters

    for name in ("mapper", "objective", "scheduler", "tiles", "verify", "seed"):
        assert parameters[name].default == getattr(options, name)
    assert options.races  # on where neither --races nor --no-races is given
