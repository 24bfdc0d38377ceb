"""How a schedule moves and shares tiles: reloads by role, and what NPUs share at a time."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from accnn.ir.tiles.events import TRANSFERS
from accnn.ir.tiles.graph import Role
from accnn.ir.tiles.schedule import TileSchedule
from accnn.passes.scheduling.flexer.candidate import Candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class Movement:
    """What moved of the tiles of one role.

    Attributes:
        role: The role.
        bytes: Between off-chip memory and the chip [byte].
        times: How many tiles were moved so many times, as (times, tiles), ascending.
    """

    role: Role
    bytes: int
    times: tuple[tuple[int, int], ...]


def movements(schedule: TileSchedule) -> tuple[Movement, ...]:
    """Return what moved, by role (Fig. 10); accumulators count spills and retrieves."""
    counts: Mapping[Role, Counter[int]] = {role: Counter() for role in Role}
    bytes: Counter[Role] = Counter()
    for event in schedule.events:
        if event.kind in TRANSFERS:
            tile = schedule.graph.tiles[event.subject]
            counts[tile.role][event.subject] += 1
            bytes[tile.role] += tile.bytes
    return tuple(
        Movement(role=role, bytes=bytes[role], times=tuple(sorted(Counter(found.values()).items())))
        for role, found in counts.items()
    )


def sharing(candidate: Candidate) -> Mapping[str, int]:
    """Return how many sets of operations share tiles in which way (Fig. 11).

    ``"W4 I2"`` is a set in which one weight tile serves four NPUs and one input tile two;
    ``"none"`` shares nothing. Sets of one operation are left out.
    """
    problem, _ = candidate.timing.in_order(candidate.dataflow)
    found: Counter[str] = Counter()
    start = 0
    for size in candidate.group.tolist():
        members = candidate.order[start : start + size]
        start += size
        if size == 1:
            continue
        parts: list[str] = []
        for role, name in ((1, "W"), (0, "I")):
            tiles: list[int] = problem.reads[members, role].tolist()
            together = max(Counter(tiles).values())
            if together > 1:
                parts.append(f"{name}{together}")
        found[" ".join(parts) or "none"] += 1
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))
