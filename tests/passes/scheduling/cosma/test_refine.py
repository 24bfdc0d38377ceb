"""What is known exactly of an operator, and when it is asked again."""

import pytest

from accnn.ir.errors import InfeasibleError
from accnn.ir.graph import Graph, Op, Value
from accnn.ir.graph_schedule import GraphSchedule, Stream, Workspace
from accnn.ir.types import DType, TensorType
from accnn.passes.scheduling.cosma.refine import CorrectedTraffic, Planned, refine
from accnn.passes.scheduling.cosma.traffic.model import StreamedTraffic, TrafficModel

OP = Op(kind="work", operands=("x",), results=(Value("y", TensorType(DType.U8, (8,))),))
NOTHING = frozenset[str]()


class Measuring:
    """Tells traffic that falls with the space, and which spaces it was asked about.

    Args:
        operations: Of the schedule that it is taken from.
    """

    def __init__(self, operations: int) -> None:
        self.operations = operations
        self.asked: list[int] = []

    def __call__(self, op: Op, resident: frozenset[str], workspace: int) -> StreamedTraffic:
        self.asked.append(workspace)
        return StreamedTraffic(
            activations=(("x", 10_000 - workspace),),
            constants=0,
            workspace=workspace,
            operations=self.operations,
        )


def test_what_is_asked_is_told_ahead_where_tiles_are_many():
    """What took very many operations stands for more space, and is not asked again."""
    told: list[int] = []
    exact = Measuring(1000)
    traffic = CorrectedTraffic(rough, exact, ahead=lambda asked: told.extend(n for *_, n in asked))

    for space in (1000, 1100):
        traffic.ahead([(OP, NOTHING, space)])
        traffic.measure(OP, NOTHING, space, space)
    assert told == []
    traffic.ahead([(OP, NOTHING, 1200)])
    exact.operations = 30_000
    traffic.measure(OP, NOTHING, 1200, 1200)
    traffic.ahead([(OP, NOTHING, 1300), (OP, NOTHING, 900)])

    assert told == [1200, 900]


def test_what_is_asked_is_told_once_tiles_have_become_many():
    told: list[list[int]] = []
    traffic = CorrectedTraffic(
        rough, Measuring(1000), ahead=lambda asked: told.append([n for *_, n in asked])
    )

    traffic.ahead([(OP, NOTHING, space) for space in (500, 600)])
    traffic.ahead([(OP, NOTHING, space) for space in (1000, 1100, 1200, 1300)])
    for space, known in ((1000, 0), (1100, 0), (1200, 1), (1300, 1)):
        traffic.measure(OP, NOTHING, space, space)
        assert len(told) == known

    assert told == [[1000, 1100, 1200, 1300]]


def rough(op: Op, resident: frozenset[str], workspace: int) -> StreamedTraffic:
    return StreamedTraffic(activations=(("x", 1),), constants=0, workspace=workspace)


@pytest.mark.parametrize(("operations", "again"), [(20_000, True), (20_001, False)])
def test_a_schedule_of_very_many_operations_stands_for_more_space(operations: int, again: bool):
    exact = Measuring(operations)
    traffic = CorrectedTraffic(rough, exact)

    found = [traffic.measure(OP, NOTHING, 1000, given) for given in (1000, 1200)]

    assert exact.asked == ([1000, 1200] if again else [1000])
    assert [item.total for item in found if item] == [9000, 8800 if again else 9000]


def test_it_does_not_stand_for_less_space_nor_for_other_residents():
    exact = Measuring(30_000)
    traffic = CorrectedTraffic(rough, exact)

    traffic.measure(OP, NOTHING, 1000, 1000)
    traffic.measure(OP, NOTHING, 900, 900)
    traffic.measure(OP, frozenset({"x"}), 1000, 1000)

    assert exact.asked == [1000, 900, 1000]


def test_what_was_measured_is_known_of_the_workspace_that_was_planned():
    traffic = CorrectedTraffic(rough, Measuring(1))

    traffic.measure(OP, NOTHING, 1000, 1200)

    known = traffic(OP, NOTHING, 1000)
    assert known is not None
    assert (known.total, known.workspace) == (8800, 1000)
    assert traffic.learnt == 1


GRAPH = Graph(
    name="one",
    inputs=(Value("x", TensorType(DType.U8, (8,))),),
    constants=(),
    ops=(OP,),
    outputs=("y",),
)


def _streaming(space: int) -> GraphSchedule:
    """Return a plan of one step that has so much workspace [byte]."""
    return GraphSchedule(
        budget=space,
        order=("y",),
        streams=(Stream(tensor="x", step=0, bytes=1),),
        workspaces=(Workspace(step=0, address=0, bytes=space),),
    )


class Refusing:
    """Plans a few times, and then says that there is no plan.

    Args:
        plans: How many plans it makes.
    """

    def __init__(self, plans: int) -> None:
        self.left = plans

    def __call__(self, model: TrafficModel, *, after: Planned | None) -> Planned:
        if not self.left:
            raise InfeasibleError("no plan could be packed")
        self.left -= 1
        space = 1000 + self.left
        return Planned(_streaming(space), is_proven=True)


def test_what_was_planned_is_kept_where_no_other_plan_can_be_packed() -> None:
    traffic = CorrectedTraffic(rough, Measuring(1))

    best = refine(GRAPH, (), traffic, Refusing(1), rounds=3)

    assert best is not None
    assert best.cost == 9000


def test_no_plan_at_all_is_refused() -> None:
    with pytest.raises(InfeasibleError, match="no plan could be packed"):
        refine(GRAPH, (), CorrectedTraffic(rough, Measuring(1)), Refusing(0), rounds=3)


class Unproven:
    """Makes plans with ever more workspace that nobody proves, and keeps what it was given.

    Args:
        gain: How much more workspace each has, which saves as many bytes [byte].
    """

    def __init__(self, gain: int) -> None:
        self.gain = gain
        self.made: list[Planned] = []
        self.given: list[Planned | None] = []

    def __call__(self, model: TrafficModel, *, after: Planned | None) -> Planned:
        self.given.append(after)
        space = 1000 + len(self.made) * self.gain
        self.made.append(Planned(_streaming(space), is_proven=False, reserves={"y": space}))
        return self.made[-1]


@pytest.mark.parametrize(("gain", "plans"), [(8, 2), (9, 2), (10, 5), (100, 5)])
def test_planning_goes_on_without_proof_while_plans_are_clearly_better(gain: int, plans: int):
    planner = Unproven(gain)

    best = refine(GRAPH, (), CorrectedTraffic(rough, Measuring(1)), planner, rounds=5)

    assert len(planner.made) == plans
    assert best is not None
    assert best.cost == 9000 - gain * (plans - 1)


def test_a_plan_is_made_after_the_one_before():
    planner = Unproven(100)

    refine(GRAPH, (), CorrectedTraffic(rough, Measuring(1)), planner, rounds=3)

    assert planner.given == [None, *planner.made[:2]]
