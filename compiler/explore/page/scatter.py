"""A chart of points with logarithmic axes; hovering over a point shows what it is."""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from ..findings.figures import PointFigures

WIDTH, HEIGHT, MARGIN = 720, 380, 60
"""Of the chart [pixel]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """A point on the chart.

    Attributes:
        x, y: Where its middle is [pixel].
        is_front: Whether it lies on the front.
        number: Of the point.
        text: What hovering shows.
    """

    x: int
    y: int
    is_front: bool
    number: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScatterTick:
    """A mark of an axis."""

    at: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Scatter:
    """A chart.

    Attributes:
        title: What it shows.
        x_name, y_name: Of its axes.
        dots: Its points; those of the front last, so that they lie on top.
        line: The front from left to right, as the points of a polyline.
        x_ticks, y_ticks: Marks of the axes.
    """

    title: str
    x_name: str
    y_name: str
    dots: tuple[Dot, ...]
    line: str
    x_ticks: tuple[ScatterTick, ...]
    y_ticks: tuple[ScatterTick, ...]


@dataclass(frozen=True, slots=True)
class PointFigure:
    """A figure with its name."""

    name: str
    of: Callable[[PointFigures], float]


def scatter(
    title: str,
    points: Sequence[PointFigures],
    front: Collection[int],
    *,
    x: PointFigure,
    y: PointFigure,
    text: Callable[[PointFigures], str],
) -> Scatter:
    """Return the chart of points.

    Args:
        title: What it shows.
        points: The points.
        front: Numbers of those on the front.
        x: Its horizontal axis.
        y: Its vertical axis.
        text: What hovering over a point shows.
    """
    place_x = _scale([x.of(item) for item in points], MARGIN, WIDTH - 20)
    place_y = _scale([y.of(item) for item in points], HEIGHT - MARGIN, 20)
    dots = [
        Dot(
            x=place_x(x.of(item)),
            y=place_y(y.of(item)),
            is_front=item.point.number in front,
            number=item.point.number,
            text=text(item),
        )
        for item in points
    ]
    line = sorted((dot.x, dot.y) for dot in dots if dot.is_front)
    return Scatter(
        title=title,
        x_name=x.name,
        y_name=y.name,
        dots=tuple(sorted(dots, key=lambda dot: dot.is_front)),
        line=" ".join(f"{at_x},{at_y}" for at_x, at_y in line),
        x_ticks=_ticks([x.of(item) for item in points], place_x),
        y_ticks=_ticks([y.of(item) for item in points], place_y),
    )


def _scale(values: Sequence[float], first: int, last: int) -> Callable[[float], int]:
    """Return where values lie between two pixels; zero lies at the smallest positive value."""
    positive = [value for value in values if value > 0] or [1.0]
    low, high = math.log(min(positive)), math.log(max(positive))
    span = high - low or 1.0

    def place(value: float) -> int:
        share = (math.log(value) - low) / span if value > 0 else 0.0
        return round(first + share * (last - first))

    return place


def _ticks(values: Sequence[float], place: Callable[[float], int]) -> tuple[ScatterTick, ...]:
    """Return marks at the ends and at their geometric mean."""
    positive = sorted(value for value in values if value > 0)
    if not positive:
        return ()
    marks = dict.fromkeys((positive[0], math.sqrt(positive[0] * positive[-1]), positive[-1]))
    return tuple(ScatterTick(at=place(value), text=f"{value:.3g}") for value in marks)
