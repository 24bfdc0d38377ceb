"""What a chart is made of: panels over one axis of time, filled with paths of whole numbers.

Coordinates are the figures themselves (cycles, steps, bytes), so a picture is exact and a test
can read it back. Paths are relative and hold many bars each, which keeps pages small.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

LANE = 18
"""Height of a lane [pixel]."""


class PathShape(StrEnum):
    """How a path is drawn: bars in one lane, boxes anywhere, or lines of fixed width."""

    BARS = "bars"
    BOXES = "boxes"
    LINES = "lines"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Things of one look and one meaning.

    Attributes:
        shape: How the path is drawn.
        look: Words that the style sheet knows: a colour, and how full.
        path: Commands of SVG.
        title: What it is.
        operator: Position of the operator it belongs to, for highlighting; -1 for none.
    """

    shape: PathShape
    look: str
    path: str
    title: str
    operator: int = -1


@dataclass(frozen=True, slots=True)
class Label:
    """Text beside a panel, ``at`` a height from its top [pixel]."""

    text: str
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A part of a chart, with its own vertical axis.

    Attributes:
        name: Heading; empty for none.
        labels: Beside it.
        height: On the screen [pixel].
        extent: Of the vertical axis, in the unit of its paths.
        marks: What is drawn, later ones on top.
    """

    name: str = ""
    labels: tuple[Label, ...]
    height: int
    extent: int
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Key:
    """One entry of a legend; without a look it is the heading of those that follow."""

    look: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Tick:
    """A figure on the horizontal axis, at a share of its length [%]."""

    share: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Panels over one horizontal axis.

    Attributes:
        name: Unique in the page; letters, digits and hyphens.
        caption: What it shows.
        description: The same in a sentence or two, with figures, for who cannot see it.
        unit: Of the horizontal axis.
        axis: What the horizontal axis is, where its unit does not say so.
        start: Where the axis starts.
        end: Where it ends.
        panels: From top to bottom.
        legend: What colours mean.
    """

    name: str
    caption: str
    description: str
    unit: str
    axis: str = ""
    start: int = 0
    end: int
    panels: tuple[Panel, ...]
    legend: tuple[Key, ...]

    @property
    def length(self) -> int:
        """Length of the axis."""
        return max(1, self.end - self.start)

    @property
    def ticks(self) -> tuple[Tick, ...]:
        """Round figures along the axis; the last part has no space for a text."""
        return tuple(
            Tick(100 * (at - self.start) / self.length, f"{at:,}")
            for at in round_figures(self.start, self.end - self.length // 20)
        )


def round_figures(start: int, end: int) -> range:
    """Return at most nine multiples of 1, 2 or 5 times a power of ten from start to end."""
    step = 1
    while (end - start) / step > 8:
        step = step * 5 // 2 if str(step)[0] == "2" else step * 2
    return range(-(-start // step) * step, end + 1, step)


def bars(spans: Iterable[tuple[int, int]], y: float) -> str:
    """Return the path of bars in one lane, from (first, end) pairs in ascending order."""
    parts: list[str] = []
    here = 0
    for first, end in spans:
        parts.append(
            f"m{first - here} 0h{end - first}" if parts else f"M{first} {y:g}h{end - first}"
        )
        here = end
    return "".join(parts)


def boxes(items: Iterable[tuple[int, int, int, int]]) -> str:
    """Return the path of boxes, from (left, right, top, bottom)."""
    parts: list[str] = []
    x = y = 0
    for left, right, top, bottom in items:
        start = f"m{left - x} {top - y}" if parts else f"M{left} {top}"
        parts.append(f"{start}h{right - left}v{bottom - top}h{left - right}z")
        x, y = left, top
    return "".join(parts)


def uprights(items: Iterable[tuple[int, int, int]]) -> str:
    """Return the path of upright lines, from (x, top, bottom)."""
    return "".join(f"M{x} {top}V{bottom}" for x, top, bottom in items)


def levels(items: Iterable[tuple[int, int, int]]) -> str:
    """Return the path of level lines, from (left, right, y)."""
    return "".join(f"M{left} {y}H{right}" for left, right, y in items)
