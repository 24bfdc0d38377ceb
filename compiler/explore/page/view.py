"""Everything that the page of a study shows, as values; the template only lays it out."""

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import cast

from ..findings.failures import Failure
from ..findings.figures import PointFigures
from ..findings.sensitivity import Sensitivity
from ..findings.summary import Summary, value_of
from ..study.schema import StudyObjective
from ..study.size import size_text
from .scatter import PointFigure, Scatter, scatter

_MOST_ROWS = 50
_MOST_LINES = 24
_LONGEST_BAR = 160
_NAMES = frozenset({"name", "description"})

UNITS = {
    StudyObjective.LATENCY: "cycles",
    StudyObjective.ENERGY: "pJ",
    StudyObjective.EDP: "pJ x cycles",
    StudyObjective.OFFCHIP_BYTES: "byte off chip",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PointRow:
    """A point as a line of a table.

    Attributes:
        number: Its number.
        values: What it sets.
        value: What is minimised.
        area: [mm2].
        sram: Bytes on chip, as text.
        difference: What its architecture has other than the best one.
    """

    number: int
    values: str
    value: str
    area: str
    sram: str
    difference: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkRow:
    """The best point of a network."""

    network: str
    number: int
    values: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectRow:
    """One value of a parameter.

    Attributes:
        value: The value.
        points: How many have it.
        mean: Geometric mean of what is minimised, over the best of all points.
        best: The best of these points, over the best of all.
        bar: Length of the bar of the mean [pixel].
    """

    value: str
    points: int
    mean: str
    best: str
    bar: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SensitivityTable:
    """What the values of a parameter make of it."""

    title: str
    rows: tuple[EffectRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyView:
    """The page.

    Attributes:
        name: Of the study.
        description: Of it.
        goal: What is minimised, with its unit.
        facts: How far the study is, as (name, value) pairs.
        charts: The fronts.
        points: The best points.
        left_out: How many more there are.
        bests: The best point of each network.
        sensitivities: What each parameter makes of it.
        failures: What did not end well.
    """

    name: str
    description: str
    goal: str
    facts: tuple[tuple[str, str], ...]
    charts: tuple[Scatter, ...]
    points: tuple[PointRow, ...]
    left_out: int
    bests: tuple[NetworkRow, ...]
    sensitivities: tuple[SensitivityTable, ...]
    failures: tuple[Failure, ...]


def view_of(name: str, description: str, summary: Summary) -> StudyView:
    """Return what the page of a study shows.

    Args:
        name: Of the study.
        description: Of it.
        summary: Its results.
    """
    return StudyView(
        name=name,
        description=description,
        goal=f"{summary.goal} [{UNITS[summary.goal]}]",
        facts=_facts(summary),
        charts=_charts(summary) if summary.points else (),
        points=tuple(_row(item, summary) for item in summary.points[:_MOST_ROWS]),
        bests=tuple(
            NetworkRow(
                network=item.network.rpartition("/")[2],
                number=item.point.point.number,
                values=values_text(item.point),
                value=f"{item.value:.4g}",
            )
            for item in summary.bests
        ),
        left_out=max(0, len(summary.points) - _MOST_ROWS),
        sensitivities=tuple(map(_effects, summary.sensitivities)),
        failures=tuple(replace(item, example=_example(item)) for item in summary.failures),
    )


def _effects(item: Sensitivity) -> SensitivityTable:
    most = max(effect.mean for effect in item.effects)
    return SensitivityTable(
        title=f"{item.name}: {item.spread:.2f} times between its values",
        rows=tuple(
            EffectRow(
                value=_value(item.name, json.loads(effect.value)),
                points=effect.points,
                mean=f"{effect.mean:.3f}",
                best=f"{effect.best:.3f}",
                bar=max(1, round(_LONGEST_BAR * effect.mean / most)),
            )
            for effect in item.effects
        ),
    )


def _example(item: Failure) -> str:
    return _line(json.loads(item.example)) if item.kind == "point" else item.example


def values_text(item: PointFigures) -> str:
    """Return what a point sets, in a line."""
    return _line(json.loads(item.point.values))


def _line(values: Mapping[str, object]) -> str:
    texts = (f"{name} = {_value(name, value)}" for name, value in values.items())
    return ", ".join(texts) or "as the base"


def difference(one: str, other: str) -> str:
    """Return what the text of an architecture says other than another one's, key by key."""
    here, there = (dict(_flattened("", tomllib.loads(text))) for text in (one, other))
    keys = [key for key in dict.fromkeys((*here, *there)) if key not in _NAMES]
    found = [
        f"{key} = {_said(key, here)}, not {_said(key, there)}"
        for key in keys
        if here.get(key) != there.get(key)
    ]
    if len(found) > _MOST_LINES:
        found[_MOST_LINES:] = [f"and {len(found) - _MOST_LINES} more"]
    return "\n".join(found) or "the same architecture"


def _flattened(prefix: str, value: object) -> Iterator[tuple[str, object]]:
    """Yield what a document says, by dotted keys; parts of a list go by their names."""
    if isinstance(value, dict):
        for key, item in cast("dict[str, object]", value).items():
            yield from _flattened(f"{prefix}.{key}" if prefix else key, item)
        return
    items = cast("list[object]", value) if isinstance(value, list) else []
    tables = [cast("dict[str, object]", item) for item in items if isinstance(item, dict)]
    if not tables:
        yield prefix, value
    for number, table in enumerate(tables):
        name = str(table.get("name", f"{prefix}.{number}"))
        yield from _flattened(name, {key: table[key] for key in table if key != "name"})


def _said(key: str, found: Mapping[str, object]) -> str:
    return _value(key, found[key]) if key in found else "none"


def _value(name: str, value: object) -> str:
    if name.endswith(("capacity", "bytes")) and isinstance(value, int):
        return size_text(value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _facts(summary: Summary) -> tuple[tuple[str, str], ...]:
    progress = summary.progress
    ended = ", ".join(f"{count} {status}" for status, count in sorted(progress.ended.items()))
    return (
        ("points", f"{progress.points}, of which {progress.refused} not looked at"),
        ("distinct tasks", f"{progress.tasks}: {ended or 'none'}, {progress.waiting} waiting"),
        ("with figures", f"{len(summary.points)} that differ in architecture or mapper"),
    )


def _charts(summary: Summary) -> tuple[Scatter, ...]:
    def text(item: PointFigures) -> str:
        best = summary.architectures[summary.points[0].point.arch]
        change = difference(summary.architectures[item.point.arch], best)
        value = f"{summary.goal} {value_of(item, summary.goal):.4g}"
        head = f"point {item.point.number}: {values_text(item)}\n{value}"
        return f"{head}, {item.point.area_mm2:.3g} mm2\nagainst the best:\n{change}"

    latency = PointFigure("cycles", lambda item: value_of(item, StudyObjective.LATENCY))
    energy = PointFigure("energy [pJ]", lambda item: value_of(item, StudyObjective.ENERGY))
    goal = PointFigure(
        f"{summary.goal} [{UNITS[summary.goal]}]", lambda i: value_of(i, summary.goal)
    )
    area = PointFigure("area [mm2]", lambda item: item.point.area_mm2)
    by_energy = {item.point.number for item in summary.by_energy}
    by_area = {item.point.number for item in summary.by_area}
    return (
        scatter("Latency and energy", summary.points, by_energy, x=latency, y=energy, text=text),
        scatter(f"Area and {summary.goal}", summary.points, by_area, x=area, y=goal, text=text),
    )


def _row(item: PointFigures, summary: Summary) -> PointRow:
    best = summary.architectures[summary.points[0].point.arch]
    return PointRow(
        number=item.point.number,
        values=values_text(item),
        value=f"{value_of(item, summary.goal):.4g}",
        area=f"{item.point.area_mm2:.3f}",
        sram=size_text(item.point.sram),
        difference=difference(summary.architectures[item.point.arch], best),
    )
