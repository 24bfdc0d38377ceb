"""The roofline: what operators compute per cycle, over what they compute per byte off chip.

Both axes are logarithmic; a coordinate is a thousandth of a power of two.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .....ir.arch import Architecture, MemoryLevel
from .....ir.report import OperatorReport
from ...binding import LOOKS, Binding
from ...figures import amount
from ..names import short
from .marks import Chart, Key, Label, Mark, Panel, PathShape, boxes

_HEIGHT = 280
_UNIT = 1000
_MARGIN = _UNIT


@dataclass(frozen=True, slots=True)
class RooflinePoint:
    """One operator: MACs per off-chip byte, and MACs per cycle."""

    operator: int
    intensity: float
    speed: float


def roofline_points(
    operators: Sequence[OperatorReport], arch: Architecture
) -> tuple[RooflinePoint, ...]:
    """Return the operators with MACs and bytes off chip, by position.

    Args:
        operators: In program order.
        arch: The machine.
    """
    return tuple(
        RooflinePoint(
            number,
            item.utilization * item.cycles * arch.all_macs / item.offchip_bytes,
            item.utilization * arch.all_macs,
        )
        for number, item in enumerate(operators)
        if item.utilization and item.cycles and item.offchip_bytes
    )


def roofline_chart(
    operators: Sequence[OperatorReport], bound_by: Sequence[Binding], arch: Architecture
) -> Chart | None:
    """Return the chart; ``None`` where no operator has MACs and bytes, or nothing bounds bytes.

    Args:
        operators: In program order.
        bound_by: What each is bound by.
        arch: The machine.
    """
    points = roofline_points(operators, arch)
    bandwidth = _most_bytes(arch.off_chip)
    if not points or not bandwidth:
        return None
    ridge = arch.all_macs / bandwidth
    left = _at(min(ridge, *(item.intensity for item in points))) - _MARGIN
    right = _at(max(ridge, *(item.intensity for item in points))) + _MARGIN
    top = _at(arch.all_macs) + _MARGIN // 2
    low = min(_at(item.speed) for item in points)
    bottom = min(low, top - 4 * _UNIT) - _MARGIN
    half = ((right - left) // 160, (top - bottom) // 60)
    marks = tuple(
        Mark(
            shape=PathShape.BOXES,
            look=f"{LOOKS[bound_by[item.operator]]} full",
            path=boxes([_around(_at(item.intensity), top - _at(item.speed), half)]),
            title=_title(item, operators[item.operator]),
            operator=item.operator,
        )
        for item in points
    )
    peak, corner = top - _at(arch.all_macs), _at(ridge)
    start = max(left, corner - (top - bottom - peak))
    roof = f"M{start} {peak + corner - start}L{corner} {peak}H{right}"
    return Chart(
        name="roofline",
        caption="Roofline of the operators with MACs",
        description=(
            f"{len(points)} operators. Off-chip memory moves {bandwidth:g} bytes a cycle, the "
            f"array computes {arch.all_macs:,} MACs a cycle, from {ridge:.3g} MACs per byte on."
        ),
        unit="intensity",
        axis=(
            f"MACs per byte off chip, {2 ** (left / _UNIT):.3g} to {2 ** (right / _UNIT):.3g}, "
            "logarithmic"
        ),
        start=left,
        end=right,
        panels=(
            Panel(
                labels=(
                    Label(f"{arch.all_macs:,}", max(6, _HEIGHT * peak / (top - bottom))),
                    Label(f"{2 ** (bottom / _UNIT):.3g}", _HEIGHT - 6),
                ),
                height=_HEIGHT,
                extent=top - bottom,
                marks=(
                    Mark(shape=PathShape.LINES, look="ink", path=roof, title="roofline"),
                    *marks,
                ),
            ),
        ),
        legend=(
            *(
                Key(f"{LOOKS[why]} full", str(why))
                for why in Binding
                if any(bound_by[item.operator] is why for item in points)
            ),
            Key("ink line", "the most that the machine can do; MACs per cycle upwards"),
        ),
    )


def _most_bytes(level: MemoryLevel) -> float | None:
    """Return what a memory reads and writes together at most; ``None``: any number [byte/cycle]."""
    if level.shared_port:
        return level.read_bandwidth
    if level.read_bandwidth is None or level.write_bandwidth is None:
        return None
    return level.read_bandwidth + level.write_bandwidth


def _at(value: float) -> int:
    """Return where a positive figure lies on a logarithmic axis."""
    return round(_UNIT * math.log2(value))


def _around(x: int, y: int, half: tuple[int, int]) -> tuple[int, int, int, int]:
    wide, tall = max(1, half[0]), max(1, half[1])
    return (x - wide, x + wide, y - tall, y + tall)


def _title(point: RooflinePoint, item: OperatorReport) -> str:
    return (
        f"{point.operator}: {short(item.name)} ({item.kind}): {point.speed:,.1f} MACs per cycle, "
        f"{point.intensity:.3g} per byte, {amount(item.offchip_bytes, 'B')} off chip"
    )
