"""What events wait for and do, one by one."""

from itertools import pairwise

from accnn.passes.scheduling.timing.issued import IssuedEvents
from accnn.passes.scheduling.timing.work import Work


def waits_of(issued: IssuedEvents) -> list[dict[int, int]]:
    """Return what each event waits for: per queue, how many of its events."""
    waits = issued.waits.tolist()
    return [dict(waits[low:high]) for low, high in pairwise(issued.waits_from.tolist())]


def works_of(issued: IssuedEvents) -> list[Work]:
    """Return what each event does."""
    return [issued.works[number] for number in issued.work.tolist()]
