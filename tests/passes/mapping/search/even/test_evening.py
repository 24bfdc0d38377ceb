from dataclasses import replace

import numpy as np
import pytest

from accnn.backend.load import load_architecture
from accnn.ir.workload import Operand, Workload
from accnn.passes.mapping.problem import MappingProblem
from accnn.passes.mapping.search.even.draws import draw_filling
from accnn.passes.mapping.search.even.evening import evened
from accnn.passes.mapping.search.even.space import even_space
from accnn.passes.mapping.search.first_nests import improved, saving, search_unevenly

CONV = Workload(R=3, S=3, P=14, Q=14, C=32, K=64)


@pytest.fixture(scope="module")
def simba():
    return load_architecture("simba.toml")


def first_fitting(space):
    batch = draw_filling(space, 2000, np.random.default_rng(0))
    return batch.take([int(np.flatnonzero(batch.cost().fits)[0])])


def test_an_even_nest_stays_the_mapping_that_it_is(simba):
    space = even_space(MappingProblem(workload=CONV, arch=simba))
    batch = first_fitting(space)

    again = evened(batch.nest(0), space)

    assert len(again) == 2
    assert (again.spatial == batch.spatial).all()
    assert (again.temporal.prod(axis=1) == batch.temporal.prod(axis=1)).all()
    assert (again.cost().compute_cycles == batch.cost().compute_cycles).all()


def test_tiles_of_a_level_start_with_the_first_or_the_last_of_an_uneven_nest(simba):
    space = even_space(MappingProblem(workload=CONV, arch=simba))
    nest = first_fitting(space).nest(0)
    uneven = replace(
        nest,
        allocations=tuple(
            replace(item, start=len(nest.temporal))
            if (item.operand, item.level) == (Operand.O, "gb")
            else item
            for item in nest.allocations
        ),
    )

    outer, inner = (evened(uneven, space).take([row]) for row in (0, 1))

    gb = space.slots.index(simba.index("gb"))
    assert outer.temporal[0, :gb].prod() <= inner.temporal[0, :gb].prod()
    assert inner.temporal[0, gb:].prod() == 1
    for batch in (outer, inner):
        assert batch.nest(0).extents == CONV.dims


def test_a_searched_nest_beats_draws_and_is_not_spoilt_afterwards(simba):
    space = even_space(MappingProblem(workload=CONV, arch=simba))
    drawn = draw_filling(space, 500, np.random.default_rng(0)).cost()

    found = search_unevenly(space)

    assert found is not None
    assert found.value <= drawn.cycles[drawn.fits].min()
    assert improved(found.nest, space.problem).value == found.value
    assert saving(found, space.problem).value <= found.value * (1 + 1e-9)


def test_a_search_like_a_mapping_keeps_its_unrolling(simba):
    space = even_space(MappingProblem(workload=CONV, arch=simba))
    batch = first_fitting(space)

    found = search_unevenly(space, (batch,))

    assert found is not None
    assert set(found.nest.spatial) == set(batch.nest(0).spatial)
    assert found.value <= float(batch.cost().cycles[0])


def test_nothing_is_found_where_nothing_fits(simba):
    space = even_space(MappingProblem(workload=CONV, arch=simba))
    tiny = tuple(
        replace(level, capacity=2) if level.name == "ab" else level for level in simba.levels
    )

    problem = replace(space.problem, arch=replace(simba, levels=tiny))

    assert search_unevenly(replace(space, problem=problem)) is None
