"""Where the time goes: one column per operator, in program order, beside its lower bound."""

from collections.abc import Sequence

from .....ir.report import OperatorReport
from ...binding import LOOKS, Binding
from ...figures import cycles_text
from ..names import short
from .marks import Chart, Key, Label, Mark, Panel, PathShape, boxes, levels

_HEIGHT = 180
_WIDE, _GAP = 10, 1


def operator_chart(operators: Sequence[OperatorReport], bound_by: Sequence[Binding]) -> Chart:
    """Return the chart.

    Args:
        operators: In program order.
        bound_by: What each is bound by.
    """
    most = max((item.cycles or 0 for item in operators), default=0) or 1
    columns = tuple(
        Mark(
            shape=PathShape.BOXES,
            look=f"{LOOKS[why]} full",
            path=boxes(
                [(_WIDE * number + _GAP, _WIDE * (number + 1) - _GAP, most - item.cycles, most)]
            ),
            title=_title(number, item, why),
            operator=number,
        )
        for number, (item, why) in enumerate(zip(operators, bound_by, strict=True))
        if item.cycles
    )
    bounds = levels(
        (_WIDE * number, _WIDE * (number + 1), most - item.cycles_lower_bound)
        for number, item in enumerate(operators)
        if item.cycles and item.cycles_lower_bound is not None
    )
    line = Mark(shape=PathShape.LINES, look="ink", path=bounds, title="lower bound")
    slowest = max(operators, key=lambda item: item.cycles or 0)
    total = sum(item.cycles or 0 for item in operators) or 1
    return Chart(
        name="operators",
        caption="Cycles per operator, in program order",
        description=(
            f"{len(operators)} operators. The slowest is {short(slowest.name)} with "
            f"{slowest.cycles or 0:,} cycles, {(slowest.cycles or 0) / total:.0%} of all operators."
        ),
        unit="operator",
        end=_WIDE * len(operators),
        panels=(
            Panel(
                labels=(Label(cycles_text(most), 6), Label("0", _HEIGHT - 6)),
                height=_HEIGHT,
                extent=most,
                marks=(*columns, line),
            ),
        ),
        legend=(
            *(
                Key(f"{LOOKS[why]} full", f"bound by {why}" if why is not Binding.WAITING else why)
                for why in Binding
                if why in bound_by and why is not Binding.UNKNOWN
            ),
            Key("ink line", "lower bound (roofline)"),
        ),
    )


def _title(number: int, item: OperatorReport, why: Binding) -> str:
    bound = item.cycles_lower_bound
    times = f", {(item.cycles or 0) / bound:.2f} times its lower bound" if bound else ""
    return f"{number}: {short(item.name)} ({item.kind}): {item.cycles:,} cycles{times}, {why}"
