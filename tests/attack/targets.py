"""What is attacked: every bound, and every answer that is called optimal or proven.

Each attacker draws small cases and solutions of them that know nothing of how the bound was found.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from accnn.ir.errors import InfeasibleError
from accnn.passes.mapping.mapper import MappingStatus
from accnn.passes.mapping.problem import SEARCHED, Objective
from accnn.passes.mapping.recipes import cosa
from accnn.passes.scheduling.cosma.packing.search import pack, pack_by_search
from accnn.passes.scheduling.cosma.solve import CosmaOptions, PlanEngine
from accnn.passes.scheduling.engine.blocks import Block, peak_bytes
from tests.block_strategies import block_lists, meet, rectangles
from tests.compiler import test_bounds_attacked as networks
from tests.passes.analysis import test_bounds_attacked as nests
from tests.passes.mapping.certificate import test_certificates_attacked as certificates
from tests.passes.scheduling.cosma import oracle
from tests.passes.scheduling.cosma.search import test_bounds_attacked as plans
from tests.passes.scheduling.flexer import sites
from tests.passes.scheduling.flexer import test_bounds_attacked as tiles
from tests.passes.scheduling.timing import test_work_bound as events

_ROUNDING = 1.0 + 1e-6
_ORDERS = 100
_NODES = 20_000
_PACKERS = (pack, pack_by_search)


@dataclass(frozen=True, slots=True)
class Target:
    """Something that is said to be unbeatable.

    Attributes:
        what: It, in words.
        cases: Strategy of the arguments of ``check``.
        check: Looks for something better and fails with ``AssertionError`` where it is found.
        batch: Cases of one seed; a batch takes seconds.
    """

    what: str
    cases: st.SearchStrategy[tuple[Any, ...]]
    check: Callable[..., None]
    batch: int


def assert_no_draw_beats_what_is_optimal(space: Any, objective: Objective) -> None:
    """Compare what the mapper calls optimal with random even mappings.

    Args:
        space: Even mappings of a workload on a machine.
        objective: What is minimised.
    """
    mapper = cosa.Cosa()
    result = mapper.map(replace(space.problem, objective=objective))
    if result.status is MappingStatus.OPTIMAL:
        found = certificates.least_found(space, objective)
        assert result.objective * (1.0 - mapper.effort.gap) <= found * _ROUNDING


def lowest_height(blocks: list[Block], rng: random.Random) -> int:
    """Return the least memory that random orders take [byte], each block as low as it can lie."""
    return min(_height(rng.sample(blocks, len(blocks))) for _ in range(_ORDERS))


def _height(blocks: list[Block]) -> int:
    placed: list[tuple[Block, int]] = []
    for block in blocks:
        beside = sorted(
            (place, place + other.bytes) for other, place in placed if meet(block, other)
        )
        lowest = 0
        for begin, end in beside:
            if lowest + block.bytes <= begin:
                break
            lowest = max(lowest, end)
        placed.append((block, lowest))
    return max(place + block.bytes for block, place in placed)


def in_random_orders(blocks: list[Block]) -> tuple[list[Block], int]:
    """Return blocks with a memory that is known to do [byte]."""
    return blocks, lowest_height(blocks, random.Random(0))


def assert_no_packer_denies_what_fits(packable: tuple[list[Block], int], less: int) -> None:
    """Ask every packer for as much memory as is known to do, and for less.

    Args:
        packable: Blocks, and the budget that is known to do [byte].
        less: So much less [byte].
    """
    blocks, height = packable
    assert peak_bytes(blocks) <= height
    for packer in _PACKERS:
        addresses, proven = packer(blocks, height, nodes=_NODES)
        assert addresses is not None or not proven, f"{packer.__name__} denies what fits"
        addresses, _ = packer(blocks, height - less, nodes=_NODES)
        assert addresses is None or _is_packed(blocks, addresses, height - less)


def _is_packed(blocks: list[Block], addresses: tuple[int, ...], budget: int) -> bool:
    placed = list(zip(blocks, addresses, strict=True))
    inside = all(0 <= place <= budget - block.bytes for block, place in placed)
    return inside and not any(
        meet(block, other) and place < there + other.bytes and there < place + block.bytes
        for index, (block, place) in enumerate(placed)
        for other, there in placed[:index]
    )


def assert_no_plan_is_better(problem: Any, engine: PlanEngine, nodes: int) -> None:
    """Compare what COSMA proves with random plans.

    Args:
        problem: What is planned.
        engine: Who plans it.
        nodes: States that the search expands.
    """
    plans.assert_no_plan_beats_the_bound(problem, CosmaOptions(engine=engine, search_nodes=nodes))


def assert_no_program_is_better(network: Any, arch: str, scheduler: str, tiling: str) -> None:
    """Compare a compiled network, and orders of its tiles, with their bounds.

    Args:
        network: Graph and constants.
        arch: Name of the machine.
        scheduler: Of operators.
        tiling: Scheduler of tiles.
    """
    try:
        made = networks.compiled(network, arch, scheduler=scheduler, tiles=tiling)
    except InfeasibleError:
        assume(False)
    else:
        networks.assert_nothing_beats_the_bounds(made, network)
        assert not events.beaten(made.module), "an order of the tiles beats the bound of all"


def _tile_cases() -> st.SearchStrategy[tuple[Any, ...]]:
    convolutions = st.builds(
        sites.convolution,
        st.integers(4, 10),
        st.sampled_from((8, 32)),
        st.just(32),
        st.sampled_from((1, 3)),
        stride=st.integers(1, 3),
    )
    capacities = st.sampled_from((8000, 30000, 120000))
    return st.tuples(convolutions, st.builds(sites.machine, capacities, st.integers(1, 4)))


TARGETS = {
    "nest": Target(
        "roofline, least energy and compulsory bytes of a loop nest",
        nests.mapped(limit=10**5).map(tuple),
        nests.assert_no_bound_is_beaten,
        200,
    ),
    "certificate": Target(
        "what CoSA proves of even mappings",
        st.tuples(certificates.spaces(), st.sampled_from(SEARCHED)),
        certificates.assert_no_mapping_beats_a_bound,
        3,
    ),
    "mapping": Target(
        "mappings that CoSA calls optimal",
        st.tuples(certificates.spaces(), st.sampled_from(SEARCHED)),
        assert_no_draw_beats_what_is_optimal,
        3,
    ),
    "plan": Target(
        "plans that COSMA calls optimal, and its bounds, by search",
        st.tuples(
            oracle.problems(most=7, slack=3) | oracle.problems(most=5, menus=True) | oracle.forks(),
            st.just(PlanEngine.SEARCH),
            st.sampled_from((3, 100_000)),
        ),
        assert_no_plan_is_better,
        20,
    ),
    "program": Target(
        "plans that COSMA calls optimal, and its bounds, by integer programming",
        st.tuples(
            oracle.problems(most=4, slack=2),
            st.sampled_from((PlanEngine.ILP, PlanEngine.LITERAL)),
            st.just(3),
        ),
        assert_no_plan_is_better,
        3,
    ),
    "packing": Target(
        "blocks that are proven not to fit, and packings",
        st.tuples(block_lists(8, 1, 9).map(in_random_orders) | rectangles(), st.integers(0, 3)),
        assert_no_packer_denies_what_fits,
        30,
    ),
    "tiles": Target(
        "bytes and cycles of every tile schedule of an operator",
        _tile_cases(),
        tiles.assert_no_schedule_beats_the_bound,
        5,
    ),
    "network": Target(
        "bytes, cycles and tile schedules of a compiled network",
        st.tuples(
            networks.networks(),
            st.sampled_from(("edge-1m", "simba", "flexer-arch5")),
            st.sampled_from(("in-order", "cosma", "mpmf-greedy")),
            st.sampled_from(("static", "static-across")),
        ),
        assert_no_program_is_better,
        3,
    ),
}
