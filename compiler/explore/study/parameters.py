"""The parameters of a study: what each may be, and the points of the space.

A key is ``part.key``: the name of a memory level or fan-out and its key, ``vector``, ``dma`` or
``npus`` and its key, or a key of the architecture itself; ``options.mapper`` chooses a mapper, and
any other word without a dot names a number for formulas. A value is

- a list: ``["64 KiB", "128 KiB"]``, ``[2, 4, 8]``;
- a range, both ends included: ``{ from = 2, to = 8, step = 2 }``, ``{ from = 2, to = 8,
  factor = 2 }``;
- a formula over other parameters and what the base file says: ``"gb.capacity / 32"``; it adds no
  dimension to the space.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from ....backend.arch_errors import problem, suggestion
from ....ir.errors import InputError, OptionError
from .expression import Expression, Number
from .places import get_value, is_option, is_place, known_places
from .size import size_of

Value: TypeAlias = int | float | str | bool
Values: TypeAlias = tuple[tuple[str, Value], ...]
"""Names with values, in the order of the study."""

BASE = "base"
"""Name of the axis that chooses among several base files."""

_MOST_VALUES = 100_000


@dataclass(frozen=True, slots=True)
class ParameterAxis:
    """One dimension of the space."""

    name: str
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class StudySpace:
    """All points of a study.

    Attributes:
        axes: Its dimensions; the last one varies fastest.
        formulas: What follows from a point, in an order in which each reads only earlier ones.
        bases: Names of the base files.
    """

    axes: tuple[ParameterAxis, ...]
    formulas: tuple[tuple[str, Expression], ...]
    bases: tuple[str, ...]

    @property
    def size(self) -> int:
        """Number of points."""
        return math.prod(len(axis.values) for axis in self.axes)

    def indices(self, number: int) -> tuple[int, ...]:
        """Return where a point lies on each axis; points are counted from 0."""
        found: list[int] = []
        for axis in reversed(self.axes):
            number, index = divmod(number, len(axis.values))
            found.append(index)
        return tuple(reversed(found))

    def point(self, indices: Sequence[int]) -> Values:
        """Return what is chosen at a point, formulas left out."""
        chosen = zip(self.axes, indices, strict=True)
        return tuple((axis.name, axis.values[index]) for axis, index in chosen)


def settings(space: StudySpace, point: Values, base: Mapping[str, Any]) -> Values:
    """Return all that a point sets, formulas worked out.

    Args:
        space: The space.
        point: What is chosen.
        base: Tables of the base file, for names that are no parameters.

    Raises:
        OptionError: A formula has no value here.
    """
    known = {name: value for name, value in point if isinstance(value, int | float)}
    found = list(point)
    for name, formula in space.formulas:
        outside = {word: get_value(base, word) for word in formula.names() if word not in known}
        numbers = {word: item for word, item in outside.items() if isinstance(item, int | float)}
        known[name] = formula.value({**numbers, **known})
        found.append((name, known[name]))
    return tuple(found)


def read_space(
    file: str,
    parameters: Mapping[str, Any],
    names: tuple[str, ...],
    bases: Sequence[Mapping[str, Any]],
) -> StudySpace:
    """Return the space that parameters span.

    Args:
        file: Name of the study file, for messages.
        parameters: Values by dotted key.
        names: Of the base files.
        bases: Their tables.

    Raises:
        InputError: Names file, key, value and what is allowed.
    """
    axes = [ParameterAxis(BASE, names)] if len(names) > 1 else []
    formulas: dict[str, Expression] = {}
    for key, value in parameters.items():
        _check_key(file, key, value, bases)
        if isinstance(value, str) and size_of(value) is None and not is_option(key):
            formulas[key] = Expression(value)
        else:
            axes.append(ParameterAxis(key, tuple(_values(file, key, value))))
    return StudySpace(tuple(axes), tuple(_in_order(file, formulas)), names)


def _check_key(file: str, key: str, value: object, bases: Sequence[Mapping[str, Any]]) -> None:
    if is_option(key) or key == BASE or ("." not in key and not is_place(bases[0], key)):
        if key == BASE:
            raise InputError(problem(file, key, value, "is no parameter"), hint="bases = [...]")
        return
    for base in bases:
        if not is_place(base, key):
            known = known_places(base)
            raise InputError(
                problem(file, f"parameters.{key}", value, "no such key of the architecture"),
                hint=suggestion(key, known) or f"e.g. {', '.join(known[:6])}",
            )


def _values(file: str, key: str, value: object) -> Iterator[Value]:
    place = f"parameters.{key}"
    if isinstance(value, dict):
        yield from _range(file, place, cast("Mapping[str, Any]", value))
        return
    items: list[object] = cast("list[object]", value) if isinstance(value, list) else [value]
    if not items:
        raise InputError(problem(file, place, items, "must name at least one value"))
    for item in items:
        if not isinstance(item, int | float | str):
            raise InputError(problem(file, place, item, "must be a number or a text"))
        size = size_of(item) if isinstance(item, str) else None
        yield item if size is None else size


def _range(file: str, place: str, table: Mapping[str, Any]) -> Iterator[Number]:
    step, factor = table.get("step"), table.get("factor")
    first, last = (_number(file, f"{place}.{key}", table.get(key)) for key in ("from", "to"))
    if (step is None) == (factor is None) or set(table) - {"from", "to", "step", "factor"}:
        what = problem(file, place, dict(table), "must have from, to, and either step or factor")
        raise InputError(what, hint="{ from = 2, to = 8, factor = 2 }")
    by = _number(file, f"{place}.{'factor' if step is None else 'step'}", factor or step)
    if first > last or by <= (1 if step is None else 0) or (step is None and first <= 0):
        raise InputError(problem(file, place, dict(table), "must grow from its first value on"))
    for index in range(_MOST_VALUES):
        item = first * by**index if step is None else first + by * index
        if item > last:
            return
        yield item
    raise InputError(problem(file, place, dict(table), f"has more than {_MOST_VALUES} values"))


def _number(file: str, place: str, value: object) -> Number:
    size = size_of(value) if isinstance(value, str) else value
    if isinstance(size, bool) or not isinstance(size, int | float):
        raise InputError(problem(file, place, value, "must be a number or a size"))
    return size


def _in_order(file: str, formulas: Mapping[str, Expression]) -> Iterator[tuple[str, Expression]]:
    """Yield formulas after those that they read.

    Raises:
        InputError: They read each other in a circle, or one is no formula.
    """
    left = dict(formulas)
    while left:
        try:
            ready = [name for name, item in left.items() if not item.names() & set(left)]
        except OptionError as error:
            raise InputError(f"{file}: parameters: {error.message}", hint=error.hint) from error
        if not ready:
            names = ", ".join(left)
            raise InputError(f"{file}: parameters: the formulas of {names} read each other")
        for name in ready:
            yield name, left.pop(name)
