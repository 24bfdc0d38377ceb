"""All schedules that are made here wait for what finished ones wait for."""

from collections.abc import Sequence

import pytest

from accnn.ir.tiles.schedule import TileSchedule
from accnn.passes.scheduling.static import static
from accnn.passes.scheduling.timing.retime import Issued, clocked, issued_events
from accnn.passes.scheduling.timing.work import Works


@pytest.fixture(autouse=True)
def waits_are_those_of_the_finished_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare what is noted while events are issued with what is found in the whole schedule."""

    def compared(schedule: TileSchedule, works: Works, issued: Sequence[Issued]) -> TileSchedule:
        assert tuple(issued) == issued_events(schedule, works)
        return clocked(schedule, works, issued)

    monkeypatch.setattr(static, "clocked", compared)
