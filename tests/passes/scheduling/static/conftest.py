"""All schedules that are made here wait for what finished ones wait for."""

import pytest

from accnn.passes.scheduling.static.attempts import Attempt, Attempts
from accnn.passes.scheduling.timing.retime import issued_events
from accnn.passes.scheduling.timing.work import Works
from tests.passes.scheduling.timing.issued import waits_of, works_of

_run = Attempts.run


@pytest.fixture(autouse=True)
def waits_are_those_of_the_finished_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare what is noted while events are issued with what is found in the whole schedule."""

    def compared(attempts: Attempts, patient: frozenset[int] = frozenset()) -> Attempt:
        attempt = _run(attempts, patient)
        works = Works(attempt.graph, attempt.tables.arch)
        found = issued_events(attempt.schedule, works)
        assert waits_of(attempt.issued) == waits_of(found)
        assert works_of(attempt.issued) == works_of(found)
        return attempt

    monkeypatch.setattr(Attempts, "run", compared)
