"""Which stages a module has."""

from dataclasses import replace

import pytest

from accnn.ir.errors import VerifyError
from accnn.ir.graph import Graph, Value
from accnn.ir.module import Module, Stage
from accnn.ir.ops import make_op
from accnn.ir.tiles.replay import Replay
from accnn.ir.tiles.schedule import TileSchedule
from accnn.ir.types import DType, TensorType
from tests.flow import compile_graph
from tests.networks import residual_network

TYPES = {"x": TensorType(DType.F32, (3, 4)), "w": TensorType(DType.F32, (5, 4))}


def module(kind: str, *operands: str) -> Module:
    inputs = tuple(Value(name, TYPES[name]) for name in dict.fromkeys(operands))
    op = make_op(kind, operands, TYPES, "y")
    return Module(graph=Graph(name="g", inputs=inputs, constants=(), ops=(op,), outputs=("y",)))


def with_first(value, name: str, **changes):
    """Return a value whose first item in a field is another one."""
    first, *rest = getattr(value, name)
    return replace(value, **{name: (replace(first, **changes), *rest)})


def test_a_graph_without_operators_of_the_mac_array_needs_no_mappings():
    assert Stage.MAPPINGS in module("relu", "x").stages
    assert Stage.MAPPINGS not in module("dense", "x", "w").stages


class TestVerifyingWhatIsKnown:
    @pytest.fixture
    def replays(self, monkeypatch: pytest.MonkeyPatch) -> list[TileSchedule]:
        """The schedules that are replayed."""
        found: list[TileSchedule] = []
        monkeypatch.setattr(Replay, "run", lambda self: found.append(self.schedule))
        return found

    @pytest.fixture
    def planned(self) -> Module:
        return compile_graph(*residual_network(), "edge-1m").module

    def test_a_schedule_is_replayed_once(self, planned, replays):
        other = replace(planned, tile_schedule=replace(planned.tile_schedule))

        other.verify()
        replace(other, program=None).verify()

        assert len(replays) == 1
        assert replays[0] is other.tile_schedule

    def test_another_schedule_is_replayed_though_it_is_equal(self, planned, replays):
        other = replace(planned, tile_schedule=replace(planned.tile_schedule))

        planned.verify()
        other.verify(known=planned)

        assert replays[-1] is other.tile_schedule

    def test_a_schedule_that_is_wrong_is_refused_each_time(self, planned):
        events = planned.tile_schedule.events[1:]
        damaged = replace(planned.tile_schedule, events=events)

        for _ in range(2):
            with pytest.raises(VerifyError):
                damaged.verify()

    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            (lambda item: with_first(item, "events", index=2), "runs on dma2, which edge-1m lacks"),
            (lambda item: with_first(item, "placements", npu=1), "is placed on npu 1 of 1"),
            (
                lambda item: replace(item, graph=with_first(item.graph, "ops", nests=())),
                "tile operation 0 has 0 nests for 1 NPUs",
            ),
        ],
    )
    def test_a_schedule_is_for_the_machine(self, planned, replays, changed, message):
        schedule = changed(planned.tile_schedule)

        with pytest.raises(VerifyError, match=message):
            schedule.verify_engines(planned.arch)
        planned.tile_schedule.verify_engines(planned.arch)

    def test_a_module_has_the_engines_of_its_schedule(self, planned):
        fewer = replace(planned.arch, dma=replace(planned.arch.dma, channels=1))

        with pytest.raises(VerifyError, match="runs on dma1, which edge-1m lacks"):
            replace(planned, arch=fewer, program=None).verify()

    def test_a_graph_that_is_known_to_be_valid_is_looked_at_once(self, planned, monkeypatch):
        seen: list[Graph] = []
        monkeypatch.setattr("accnn.ir.module.verify_graph", seen.append)
        other = replace(planned, graph=replace(planned.graph))

        replace(planned, program=None).verify(known=planned)
        other.verify(known=planned)

        assert [graph is other.graph for graph in seen] == [True]

    def test_a_damaged_schedule_is_refused_whatever_is_known(self, planned):
        schedule = planned.tile_schedule
        first = replace(schedule.events[0], end=schedule.events[0].start - 1)
        damaged = replace(schedule, events=(first, *schedule.events[1:]))

        with pytest.raises(VerifyError):
            replace(planned, tile_schedule=damaged).verify(known=planned)
