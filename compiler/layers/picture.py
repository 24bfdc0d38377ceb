"""A loop nest as a picture: levels as boxes, one inside of the other, with their loops."""

import itertools
from dataclasses import dataclass
from html import escape

from ...ir.arch import Architecture, Fanout
from ...ir.mapping import LoopNest
from ...ir.workload import Operand
from ..report.figures import amount, capacity

_LINE = 18
_EDGE = 12
_WIDTH = 560
_STYLE = (
    "text{font:13px ui-monospace,monospace;fill:#1b1f24}.head{font-weight:bold}"
    ".dim{fill:#57606a}rect{stroke:#8c959f;rx:4}.level{fill:#f6f8fa}.fanout{fill:#ddf4ff}"
    ".macs{fill:#dafbe1}@media(prefers-color-scheme:dark){text{fill:#e6edf3}.dim{fill:#9198a1}"
    ".level{fill:#161b22}.fanout{fill:#0c2d4a}.macs{fill:#0f2d1a}}"
)


@dataclass(frozen=True, slots=True)
class NestBox:
    """A memory, a fan-out or the MACs.

    Attributes:
        kind: ``level``, ``fanout`` or ``macs``.
        head: What it is.
        about: What it holds or feeds.
        loops: Lines of text, outermost first.
    """

    kind: str
    head: str
    about: str
    loops: tuple[str, ...] = ()


def nest_boxes(nest: LoopNest, arch: Architecture) -> tuple[NestBox, ...]:
    """Return the boxes of a nest, outermost first.

    Loops stand in the memory whose tiles they step over, as in ``nest_text``.
    """
    starts = list(itertools.accumulate((_start(nest, level.name) for level in arch.levels), max))
    ends = [*starts[1:], len(nest.temporal)]
    boxes: list[NestBox] = []
    for level, start, end in zip(arch.levels, starts, ends, strict=True):
        loops = tuple(
            f"for {loop.dim.lower()} in 0..{loop.extent}" for loop in nest.temporal[start:end]
        )
        boxes.append(NestBox("level", level.name, _held(nest, arch, level.name), loops))
        boxes += [_fanout(nest, item) for item in arch.fanouts if item.below == level.name]
    return (*boxes, NestBox("macs", "MAC", ""))


def _start(nest: LoopNest, level: str) -> int:
    """Return the loop from which on a memory's tiles extend; 0 where it keeps nothing."""
    return max((item.start for item in nest.allocations if item.level == level), default=0)


def _fanout(nest: LoopNest, fanout: Fanout) -> NestBox:
    own = (loop for loop in nest.spatial if loop.fanout == fanout.name)
    loops = tuple(f"parallel_for {loop.dim.lower()} in 0..{loop.extent}" for loop in own)
    return NestBox("fanout", fanout.name, f"{fanout.size} side by side", loops)


def _held(nest: LoopNest, arch: Architecture, level: str) -> str:
    held = {operand: size for operand, size in nest.bytes_at(arch, level) if size}
    shown = ", ".join(f"{item} {amount(held[item], 'B')}" for item in Operand if item in held)
    size = arch.level(level).usable
    return f"{shown or 'nothing'} of {'unbounded' if size is None else capacity(size)}"


def nest_svg(nest: LoopNest, arch: Architecture, title: str) -> str:
    """Return a picture of a nest as SVG, which any browser shows.

    Args:
        nest: What is drawn.
        arch: Its machine.
        title: Names it.
    """
    boxes = nest_boxes(nest, arch)
    heights = [_EDGE + _LINE * (1 + len(box.loops)) for box in boxes]
    width = _WIDTH + 2 * _EDGE * len(boxes)
    tall = sum(heights) + _EDGE * (len(boxes) + 1) + _LINE
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {tall}" '
        f'width="{width}" height="{tall}" role="img">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style>",
        f'<text x="{_EDGE}" y="{_LINE}" class="head">{escape(title)}</text>',
    ]
    top = _LINE + _EDGE
    for depth, (box, height) in enumerate(zip(boxes, heights, strict=True)):
        left = _EDGE * (depth + 1)
        inside = sum(heights[depth:]) + _EDGE * (len(boxes) - depth - 1)
        parts.append(
            f'<rect class="{box.kind}" x="{left}" y="{top}" width="{width - 2 * left}" '
            f'height="{inside}"/>'
        )
        parts += _texts(box, left + _EDGE, top)
        top += height
    return "\n".join([*parts, "</svg>", ""])


def _texts(box: NestBox, left: int, top: int) -> list[str]:
    head = (
        f'<text x="{left}" y="{top + _LINE}"><tspan class="head">{escape(box.head)}</tspan>'
        f'<tspan class="dim">  {escape(box.about)}</tspan></text>'
    )
    lines = [
        f'<text x="{left}" y="{top + _LINE * (number + 2)}">{escape(text)}</text>'
        for number, text in enumerate(box.loops)
    ]
    return [head, *lines]
