"""Energy and bytes of each operator, stacked by the memory level or unit that they belong to."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from .....ir.report import OperatorReport
from ...figures import amount, joule
from ..names import short
from .marks import Chart, Key, Label, Mark, Panel, PathShape, boxes

_Spelled: TypeAlias = Callable[[float], str]
"""How a figure is written, with its unit."""

_HEIGHT = 180
_WIDE, _GAP = 10, 1
_LOOKS = tuple(
    f"{colour} {fullness}"
    for fullness in ("full", "half", "little")
    for colour in ("ochre", "blue", "teal", "purple", "slate", "red")
)
"""Of the parts, in order; there are more than any machine of the catalogue needs."""


def energy_chart(operators: Sequence[OperatorReport]) -> Chart | None:
    """Return the energy of each operator by part; ``None`` where none is known.

    Args:
        operators: In program order.
    """
    stacks = [{part.part: round(part.pj) for part in item.energy} for item in operators]
    return _stacked(
        operators,
        stacks,
        name="energy-split",
        caption="Energy of each operator, by memory level and unit",
        spelled=lambda pj: amount(joule(pj), "J"),
    )


def traffic_chart(operators: Sequence[OperatorReport]) -> Chart | None:
    """Return the bytes that each operator reads and writes by level; ``None`` where unknown.

    Args:
        operators: In program order.
    """
    stacks: list[dict[str, int]] = []
    for item in operators:
        found: dict[str, int] = {}
        for row in item.traffic:
            found[row.level] = found.get(row.level, 0) + row.read_bytes + row.written_bytes
        stacks.append(found)
    return _stacked(
        operators,
        stacks,
        name="traffic-split",
        caption="Bytes that each operator reads and writes, by memory level",
        spelled=lambda size: amount(size, "B"),
    )


def _stacked(
    operators: Sequence[OperatorReport],
    stacks: Sequence[Mapping[str, int]],
    *,
    name: str,
    caption: str,
    spelled: _Spelled,
) -> Chart | None:
    totals: dict[str, int] = {}
    for stack in stacks:
        for part, value in stack.items():
            totals[part] = totals.get(part, 0) + value
    whole, most = sum(totals.values()), max((sum(stack.values()) for stack in stacks), default=0)
    if not whole:
        return None
    looks = dict(zip(totals, _LOOKS, strict=False))
    largest = max(totals, key=lambda part: totals[part])
    return Chart(
        name=name,
        caption=caption,
        description=(
            f"{spelled(whole)} in all operators together, most of it in {largest}: "
            f"{totals[largest] / whole:.0%}."
        ),
        unit="operator",
        end=_WIDE * len(operators),
        panels=(
            Panel(
                labels=(Label(spelled(most), 6), Label("0", _HEIGHT - 6)),
                height=_HEIGHT,
                extent=most,
                marks=tuple(_columns(operators, stacks, looks, most, spelled)),
            ),
        ),
        legend=tuple(Key(looks[part], part) for part in totals if totals[part]),
    )


def _columns(
    operators: Sequence[OperatorReport],
    stacks: Sequence[Mapping[str, int]],
    looks: Mapping[str, str],
    most: int,
    spelled: _Spelled,
) -> Iterable[Mark]:
    """Yield one mark per operator and part, the first part at the bottom."""
    for number, (item, stack) in enumerate(zip(operators, stacks, strict=True)):
        bottom, own = most, sum(stack.values())
        left, right = _WIDE * number + _GAP, _WIDE * (number + 1) - _GAP
        for part, value in stack.items():
            if not value:
                continue
            yield Mark(
                shape=PathShape.BOXES,
                look=looks[part],
                path=boxes([(left, right, bottom - value, bottom)]),
                title=(
                    f"{number}: {short(item.name)}, {part}: {spelled(value)} of {spelled(own)} "
                    f"({value / own:.0%})"
                ),
                operator=number,
            )
            bottom -= value
