"""The rows of a database of results, as values."""

from dataclasses import dataclass

from ..work.outcome import TaskOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class PointRecord:
    """One point of the space.

    Attributes:
        number: Its number in the study, from 0.
        place: Where it lies on each axis.
        values: All that it sets, as JSON.
        arch: Digest of the architecture's text; empty where there is none.
        mapper: Who maps layers.
        area_mm2: Area of memories and MACs [mm2].
        sram: Bytes of all memories on chip [byte].
        cause: Why it is not looked at; empty where it is.
    """

    number: int
    place: tuple[int, ...]
    values: str
    arch: str
    mapper: str
    area_mm2: float
    sram: int
    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UseRecord:
    """A task that the figures of a point add up.

    Attributes:
        point: Number of the point.
        network: Name of the network.
        layer: Its place in the network, from 0.
        name: Its name.
        count: How often it occurs.
        task: Digest of the task.
    """

    point: int
    network: str
    layer: int
    name: str
    count: int
    task: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRecord:
    """A task and what came of it.

    Attributes:
        key: Its digest.
        label: The question in a line.
        outcome: What came of it; ``None`` where it was not yet answered.
    """

    key: str
    label: str
    outcome: TaskOutcome | None
