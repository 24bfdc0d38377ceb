"""The fewest steps of an array, against all unrollings of small machines."""

from dataclasses import replace
from itertools import product
from math import ceil, prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.backend.load import load_architecture
from accnn.ir.arch import Npu
from accnn.ir.workload import REDUCTION, Dim, Workload
from accnn.passes.analysis.unrolled_steps import LeastCycles, fewest_steps
from tests.thinned import examples

from ...nest_strategies import architectures

FIRST = Workload(P=112, Q=112, K=64, C=3, R=7, S=7)
"""The first layer of ResNet-50."""


def test_filters_that_do_not_fill_the_rows():
    edge = load_architecture("edge-1m")
    assert fewest_steps(FIRST, edge) == 12 * 4 * 112 * 112
    assert fewest_steps(replace(FIRST, C=16), edge) == 49 * 4 * 112 * 112


def slowly(workload, arch):
    """Try every factor of every dimension at every fan-out."""
    ways = []
    for fanout in arch.fanouts:
        usable = [d for d in fanout.dims if fanout.reduction or d not in REDUCTION]
        ranges = [range(1, min(workload.dims[d], fanout.size) + 1) for d in usable]
        found = [dict(zip(usable, f, strict=True)) for f in product(*ranges)]
        ways.append([item for item in found if prod(item.values()) <= fanout.size])
    return min(
        prod(ceil(n / prod(item.get(d, 1) for item in way)) for d, n in workload.dims.items())
        for way in product(*ways)
    )


@settings(max_examples=examples(60), deadline=None, derandomize=True)
@given(
    architectures(),
    st.fixed_dictionaries({dim.value: st.integers(1, 5) for dim in (Dim.P, Dim.K, Dim.C, Dim.R)}),
)
def test_it_is_never_more_than_the_best_unrolling(arch, extents):
    small = replace(
        arch, fanouts=tuple(replace(item, size=min(item.size, 4)) for item in arch.fanouts[:2])
    )
    load = Workload(**extents)
    assert fewest_steps(load, small) <= slowly(load, small)
    one = replace(small, fanouts=small.fanouts[:1])
    assert fewest_steps(load, one) == slowly(load, one)


def test_equal_npus_share_the_steps():
    arch = load_architecture("flexer-arch5")
    assert len(arch.npus) == 4
    assert LeastCycles(arch)(FIRST) == fewest_steps(FIRST, arch) / 4


@pytest.mark.parametrize("machine", ["simba", "edge-1m", "flexer-arch5"])
def test_never_less_than_all_multipliers_busy(machine):
    arch = load_architecture(machine)
    assert LeastCycles(arch)(FIRST) >= FIRST.macs / arch.all_macs


def test_of_unequal_npus_the_multipliers_alone_count():
    arch = load_architecture("edge-1m")
    wider = replace(arch, npus=(Npu(name="a"), Npu(name="b", sizes=(("row", 32),))))
    assert LeastCycles(wider)(FIRST) == FIRST.macs / wider.all_macs
