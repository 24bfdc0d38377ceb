"""What each parameter makes of what a study minimises.

For every value of a parameter: the geometric mean and the best over all points that have it. The
means of a grid compare like with like; those of a search do not, for it looks at promising points
more often.
"""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ..study.schema import StudyObjective
from .figures import PointFigures, geomean


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueEffect:
    """One value of a parameter.

    Attributes:
        value: As it is written in JSON.
        points: How many have it, and figures.
        mean: Geometric mean of what is minimised, over the best of all points.
        best: The best of these points, over the best of all.
    """

    value: str
    points: int
    mean: float
    best: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """One parameter.

    Attributes:
        name: Its name.
        spread: The largest mean of its values over the smallest.
        effects: Its values, in the order in which they occur first.
    """

    name: str
    spread: float
    effects: tuple[ValueEffect, ...]


def sensitivities(points: Sequence[PointFigures], goal: StudyObjective) -> tuple[Sensitivity, ...]:
    """Return every parameter with several values, the one that matters most first."""
    known = [(json.loads(item.point.values), item.of(goal)) for item in points]
    groups: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for values, figure in known:
        for name, value in values.items() if figure is not None and figure > 0 else ():
            groups[name][json.dumps(value)].append(figure or 0.0)
    found = [_sensitivity(name, values) for name, values in groups.items() if len(values) > 1]
    return tuple(sorted(found, key=lambda item: (-item.spread, item.name)))


def _sensitivity(name: str, values: dict[str, list[float]]) -> Sensitivity:
    best = min(min(figures) for figures in values.values())
    effects = tuple(
        ValueEffect(
            value=value,
            points=len(figures),
            mean=geomean(figures) / best,
            best=min(figures) / best,
        )
        for value, figures in values.items()
    )
    means = [effect.mean for effect in effects]
    return Sensitivity(name=name, spread=max(means) / min(means), effects=effects)
