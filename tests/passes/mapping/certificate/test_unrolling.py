"""How fast the array can run: the small program, against every unrolling."""

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from accnn.ir.arch import Architecture, Fanout, FanoutGroup, MemoryLevel
from accnn.ir.workload import OPERANDS, REDUCTION, Dim, Operand, Workload
from accnn.passes.mapping.certificate.unrolling import least_steps
from accnn.passes.mapping.problem import MappingProblem
from accnn.passes.mapping.recipes.drawn import Exhaustive
from tests.thinned import examples

PLACES = ("gb", "wb", "ib", "ab")
SLOW = st.sampled_from((None, 0.5, 1.5))


@st.composite
def arrays(draw):
    """Draw a machine of which only the array's own memories and links may be slow.

    Each memory there has one operand: the program does not add up what passes one port.
    """
    levels = (
        MemoryLevel(name="dram", holds=OPERANDS, capacity=None),
        MemoryLevel(name="gb", holds=(Operand.I, Operand.O), capacity=1 << 20),
        MemoryLevel(name="wb", holds=(Operand.W,), capacity=1 << 20, read_bandwidth=draw(SLOW)),
        MemoryLevel(name="ib", holds=(Operand.I,), capacity=1 << 20, read_bandwidth=draw(SLOW)),
        MemoryLevel(name="ab", holds=(Operand.O,), capacity=1 << 20, write_bandwidth=draw(SLOW)),
    )
    fanouts = []
    for below in draw(st.lists(st.sampled_from(PLACES), min_size=1, max_size=3)):
        reduction = draw(st.booleans())
        fanouts.append(
            Fanout(
                name=f"f{len(fanouts)}",
                below=below,
                size=draw(st.sampled_from((2, 3, 4))),
                dims=tuple(dim for dim in Dim if reduction or dim not in REDUCTION),
                multicast=tuple(sorted(draw(st.sets(st.sampled_from(OPERANDS[:2]))))),
                reduction=reduction,
                link_bandwidth=draw(SLOW) if below == "ab" else None,
            )
        )
    fanouts.sort(key=lambda item: PLACES.index(item.below))
    groups = ()
    if len(fanouts) > 1 and draw(st.booleans()):
        names = tuple(item.name for item in fanouts[:2])
        groups = (FanoutGroup(fanouts=names, limit=draw(st.integers(2, 6))),)
    return Architecture(
        name="array", levels=levels, scratchpad="gb", fanouts=tuple(fanouts), groups=groups
    )


@settings(max_examples=examples(60), deadline=None, derandomize=True, phases=[Phase.generate])
@given(arrays(), st.sampled_from([{"K": 12}, {"C": 6, "K": 2}, {"P": 4, "C": 3}, {"K": 5, "R": 3}]))
def test_the_bound_is_what_the_best_unrolling_takes(arch, extents):
    problem = MappingProblem(workload=Workload(**extents), arch=arch, padding=False)

    best = Exhaustive().map(problem).objective

    assert 0.985 * best <= least_steps(problem, problem.workload.dims) <= best * (1 + 1e-6)
