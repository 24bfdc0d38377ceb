"""Which extents are padded, on machines where it can be counted on fingers."""

import math

import pytest

from accnn.ir.arch import Architecture, Fanout, MemoryLevel
from accnn.ir.workload import OPERANDS, Dim, Workload
from accnn.passes.mapping.certificate.padding import candidates
from accnn.passes.mapping.certificate.unrolling import least_steps
from accnn.passes.mapping.problem import MappingProblem


def array(size: int, dim: Dim = Dim.K) -> Architecture:
    """Return a machine that unrolls one dimension so many times."""
    levels = (
        MemoryLevel(name="dram", holds=OPERANDS, capacity=None),
        MemoryLevel(name="gb", holds=OPERANDS, capacity=1 << 20),
    )
    lanes = Fanout(name="lane", below="gb", size=size, dims=(dim,))
    return Architecture(name="array", levels=levels, scratchpad="gb", fanouts=(lanes,))


def padded(work: Workload, arch: Architecture, count: int = 3):
    problem = MappingProblem(workload=work, arch=arch)
    below = least_steps(problem, work.dims)
    return below, candidates(problem, below=below, count=count)


@pytest.mark.parametrize(("size", "extent"), [(4, 11), (8, 29), (6, 17)])
def test_a_prime_that_fills_no_lane_is_raised_to_what_fills_all(size: int, extent: int):
    below, found = padded(Workload(K=extent, P=3), array(size))

    assert found[0].extents[Dim.K] == math.ceil(extent / size) * size
    assert found[0].extents[Dim.P] == 3
    assert found[0].cycles == pytest.approx(math.ceil(extent / size) * 3)
    assert below == pytest.approx(extent * 3)


def test_what_fills_the_lanes_is_not_padded():
    assert padded(Workload(K=16, P=3), array(4))[1] == ()


def test_a_dimension_that_nothing_unrolls_is_not_padded():
    _, found = padded(Workload(K=11, P=13, Q=7), array(4))

    assert found
    assert all((item.extents[Dim.P], item.extents[Dim.Q]) == (13, 7) for item in found)


@pytest.mark.parametrize(
    ("dim", "other"), [(Dim.P, Dim.Q), (Dim.Q, Dim.P), (Dim.R, Dim.S), (Dim.S, Dim.R)]
)
def test_rows_and_columns_that_differ_are_padded_by_themselves(dim: Dim, other: Dim):
    _, found = padded(Workload().resized({dim: 11, other: 40}), array(4, dim))

    assert found
    assert found[0].extents[dim] == 12
    assert all(item.extents[other] == 40 for item in found)


def test_no_more_than_two_fifths_are_wasted():
    work = Workload(K=5, P=3)
    _, found = padded(work, array(8))

    assert all(math.prod(item.extents.values()) <= 1.4 * work.macs for item in found)
    assert 8 not in [item.extents[Dim.K] for item in found]  # three more of five


def test_the_best_come_first_and_no_more_than_were_asked_for():
    work = Workload(K=23, P=3)
    _, many = padded(work, array(8), count=9)
    _, one = padded(work, array(8), count=1)

    cycles = [item.cycles for item in many]
    assert cycles == sorted(cycles)
    assert one == many[:1]


def test_what_gains_less_than_half_a_per_cent_is_not_worth_it():
    work = Workload(K=11, P=3)
    problem = MappingProblem(workload=work, arch=array(4))

    assert candidates(problem, below=9.0 / 0.994, count=1)
    assert not candidates(problem, below=9.0 / 0.996, count=1)
