"""An explanation as text."""

from collections.abc import Iterator, Sequence

from ...passes.scheduling.fusion.borders import Border, Obstacle
from ..report.binding import spelled_shares
from ..report.bottleneck import BINDS
from ..report.figures import amount, capacity, cycles_text, joule, percent
from .alone import OperatorCost
from .explanation import Explanation, NestUse, WhatIf

_FULL = 0.9
"""A memory is called full from this share on."""

_WORTH = 0.005
"""Smaller differences of cycles, energy and bytes are no effect."""


def explained(found: Explanation) -> str:
    """Return an explanation as lines of text."""
    parts = (_cost, _bounds, _binding, _apart, _helps)
    paragraphs = ("\n".join(part(found)) for part in parts)
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)


def _cost(found: Explanation) -> Iterator[str]:
    kinds = " + ".join(found.kinds)
    nodes = f", from ONNX node {', '.join(found.nodes)}" if found.nodes else ""
    folded = f"; it computes ONNX node {found.folded}, too" if found.folded else ""
    yield f"{found.operator} on {found.arch}: {kinds}{nodes}{folded}"
    if found.in_network is not None:
        yield f"  in the network  {_figures(found.in_network)}"
    yield f"  by itself       {_figures(found.alone)}"


def _figures(cost: OperatorCost) -> str:
    return (
        f"{cycles_text(cost.cycles)} cycles, {amount(joule(cost.energy_pj), 'J')}, "
        f"{amount(cost.offchip_bytes, 'B')} off chip"
    )


def _bounds(found: Explanation) -> Iterator[str]:
    bound, alone = found.cycles_lower_bound, found.alone
    which = "MACs" if found.macs_cycles >= found.compulsory_cycles else "bytes"
    times = f"; it takes {alone.cycles / bound:.2f} times that" if bound else ""
    yield f"By itself it takes {cycles_text(bound)} cycles at least, for its {which}{times}."
    yield f"  {amount(found.macs)} MACs on the whole array: {cycles_text(found.macs_cycles)} cycles"
    yield (
        f"  {amount(found.compulsory_bytes, 'B')} of operands and result: "
        f"{cycles_text(found.compulsory_cycles)} cycles; it moves "
        f"{alone.offchip_bytes / found.compulsory_bytes:.2f} times as much"
    )


def _binding(found: Explanation) -> Iterator[str]:
    yield f"{BINDS[found.bound_by]} Engines work: {spelled_shares(found.busy)}."
    if found.waits:
        waits = ", ".join(
            f"{item.port} ({cycles_text(item.cycles)} cycles)" for item in found.waits[:3]
        )
        yield f"Instructions hold each other up at ports: {waits}."
    if found.nest is not None:
        yield from _nest(found.nest)


def _nest(nest: NestUse) -> Iterator[str]:
    slowest = "its MACs" if nest.slowest == "compute" else f"the port {nest.slowest}"
    yield f"The steps of the loop nest of {nest.operator} wait for {slowest}."
    idle = [item for item in nest.fanouts if item.used < item.size]
    if idle:
        parts = ", ".join(f"{item.fanout} {item.used} of {item.size}" for item in idle)
        yield f"It leaves part of the array idle: {parts}."
    for item in nest.memories:
        share = item.bytes / item.usable
        state = "full" if share >= _FULL else "not full"
        yield (
            f"  {item.level} is {state}: {amount(item.bytes, 'B')} of {capacity(item.usable)} "
            f"({share:.0%})"
        )
    if nest.gap is not None and nest.scope is not None:
        yield f"No nest of these is better by more than {percent(nest.gap)}: {nest.scope}."


def _apart(found: Explanation) -> Iterator[str]:
    for border in found.borders:
        side = "behind" if border.is_after else "before"
        yield f"It is not fused with {border.neighbour} {side} it: {_obstacle(border)}."


def _obstacle(border: Border) -> str:
    match border.obstacle:
        case Obstacle.KIND:
            return f"{border.operator} can be no member of a group"
        case Obstacle.COUNT:
            return (
                f"together they are {border.demand} operators, without those that only finish the "
                f"tiles of others; a group has {border.limit} at most"
            )
        case Obstacle.UNRELATED:
            return "they share no tensor"
        case Obstacle.ROWS:
            return "rows of what others read, too, would be kept, and all rows at once do not fit"
        case Obstacle.AXES:
            return "what one would hand to the other is not read row by row"
        case Obstacle.LINES:
            return (
                f"the rows that they hand on need {amount(border.demand, 'B')} in the lowest "
                f"stripes, and may take {amount(border.limit, 'B')}"
            )
        case Obstacle.TILES:
            left = amount(max(0, border.limit), "B")
            return f"tiles do not fit beside what the plan keeps on chip, which leaves {left}"
        case Obstacle.BYTES | Obstacle.CYCLES:
            return _both(border)
        case Obstacle.CHOICE:
            return f"{_both(border)}; other groups were chosen, or there is no space beside them"


def _both(border: Border) -> str:
    together, apart = border.together, border.apart
    assert together is not None and apart is not None
    return (
        f"together they would take about {cycles_text(together.cycles)} instead of "
        f"{cycles_text(apart.cycles)} cycles and move {amount(together.bytes, 'B')} instead of "
        f"{amount(apart.bytes, 'B')}"
    )


def _helps(found: Explanation) -> Iterator[str]:
    now = found.alone
    yield "By itself on a machine with one number changed, compiled and run again:"
    able = [item for item in found.what_ifs if item.cost is not None]
    felt = [item for item in able if _is_felt(item, now)]
    yield from _table(felt, now)
    idle = [item.what for item in able if item not in felt]
    if idle:
        yield f"  no effect: {', '.join(idle)}"
    for item in found.what_ifs:
        if item.cost is None:
            yield f"  {_change(item)}: cannot be compiled: {item.reason}"
    yield _advice(felt, now)


def _is_felt(item: WhatIf, now: OperatorCost) -> bool:
    return any(abs(change) >= _WORTH for change in _changes(item, now))


def _changes(item: WhatIf, now: OperatorCost) -> tuple[float, float, float]:
    """Return by which share cycles, energy and bytes are more than now."""
    cost = item.cost
    assert cost is not None
    pairs = (
        (cost.cycles, now.cycles),
        (cost.energy_pj, now.energy_pj),
        (cost.offchip_bytes, now.offchip_bytes),
    )
    first, second, third = (after / before - 1 if before else 0.0 for after, before in pairs)
    return first, second, third


def _table(items: Sequence[WhatIf], now: OperatorCost) -> Iterator[str]:
    rows = [(_change(item), *_cells(item, now)) for item in items]
    if not rows:
        return
    rows.insert(0, ("", "cycles", "energy", "off chip"))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for row in rows:
        cells = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        yield f"  {row[0].ljust(widths[0])}  {'  '.join(cells)}"


def _cells(item: WhatIf, now: OperatorCost) -> tuple[str, str, str]:
    cost, (cycles, energy, moved) = item.cost, _changes(item, now)
    assert cost is not None
    return (
        f"{cycles_text(cost.cycles)} ({_signed(cycles)})",
        f"{amount(joule(cost.energy_pj), 'J')} ({_signed(energy)})",
        f"{amount(cost.offchip_bytes, 'B')} ({_signed(moved)})",
    )


def _signed(share: float) -> str:
    return f"{round(share, 3) + 0.0:+.1%}"


def _change(item: WhatIf) -> str:
    return f"{item.what} {item.before:g} -> {item.after:g}"


def _advice(felt: Sequence[WhatIf], now: OperatorCost) -> str:
    best = felt[0] if felt else None
    if best is None or best.cost is None or _changes(best, now)[0] > -_WORTH:
        return "No single one of these numbers makes it faster."
    return (
        f"What helps most is {best.what} {best.after:g}: {cycles_text(best.cost.cycles)} "
        f"instead of {cycles_text(now.cycles)} cycles."
    )
