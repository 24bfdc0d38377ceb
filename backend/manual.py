"""The manual of the instruction set, written from the table and the classes themselves.

``python -m accnn.backend.manual > docs/instruction-set.md`` brings the page up to date.
"""

import inspect
import re
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import MISSING
from enum import Enum
from functools import cache

from ..ir import isa, latency
from ..ir.isa import UNITS, Instruction, Space, Unit
from . import encode
from .instruction_table import FORMAT_VERSION, Field, Kind, Layout, layouts

_INTRODUCTION = f"""\
# Instruction set

<!-- Written by `python -m accnn.backend.manual`; edit the docstrings that it is made of. -->

{{queues}}

Encoding and assembly below are version {FORMAT_VERSION}. The table in
`backend/instruction_table.py` drives both, and this page; what an instruction means is executable
in `runtime_sim/functional.py`.

## Instructions

| instruction | opcode | runs on | cycles |
|---|---|---|---|
{{rows}}

These are the cycles of an instruction that has the machine for itself, if the scratchpad keeps up.
`bytes / bandwidth` is that of the slowest port that a copy uses: off-chip memory or the
scratchpad, the source's for reads and the destination's for writes. Vector instructions take no
less than their bytes from and to `gb` need at its ports. What several instructions ask of one port
they share: all slow down alike until it is full, and those that it does not hold up go on
([decision 18](decisions/0018-ports-are-shared-fairly.md)). On `mx` filling hides behind the `mac`
before and draining behind the one after, and the memories and links of the array are ports like
others, loaded as their busiest instance is; on the other queues an instruction starts when the one
before has retired. Operands are read when an instruction starts, and results are visible when it
retires. Elements are those of the output, of the input for `reduce`. `startup` and `lanes` are the
vector unit's. `cost` is {latency.EXP_COST} for division and for {{slow}}; it is
{latency.SIMPLE_COST} for all else. All divisions round up, and bandwidths are exact ratios, so
times are integers on every machine. The code is `runtime_sim/demands.py` and
`runtime_sim/timing.py`; what loops do on the array, `runtime_sim/array/`. Schedulers predict by the
same rules in other code, `passes/scheduling/timing/`.

Every instruction has `waits` and `op`, the number of the operator that it works for (-1: none).
"""

_BINARY = """\
## Binary form

{encoding}
Codes of choices count from 0 in the order in which this page lists them. Spaces: {spaces}.
"""

_TEXT = """\
## Assembly text

`backend/asm` turns programs into text and back, exactly. A statement is a mnemonic with
`key=value` arguments, in any order, and `wait(dma0>=12, ld0>=3)`. Fields at their default are left
out. A comment runs from `;` to the end of the line.

| value | text |
|---|---|
| integer, real | `7`, `0x40`, `0.5`, `inf` |
| flag | `true`, `false` |
| choice | `relu` |
| access | `gb:0x40[8,1]`: space (with the NPU's number where it has its own), address, strides |
| integers, reals | `(3,3)` |
| window | `{stride=(1,1) dilation=(1,1) rows=5 columns=6 top=1 left=1}` |

Directives give the rest: `.program`, `.arch`, `.space`, `.symbol`, `.operator`, `.nest`, and
`.queue NAME`, which the statements after it belong to.
"""

_CYCLES: Mapping[type[Instruction], str] = {
    isa.Sync: "1",
    isa.Halt: "1",
    isa.Copy: "copy",
    isa.Fill: "copy",
    isa.Mac: "`fill + max(steps of its loops, bytes / bandwidth) + drain`",
    isa.Activate: "`startup + elements * cost / lanes`",
    isa.Binary: "`startup + elements * cost / lanes`",
    isa.Pool: "`startup + elements * taps / lanes`",
}
_COPY = (
    "`dma.startup + bytes / bandwidth` from or to `dram`, "
    f"`{latency.ON_CHIP_STARTUP} + bytes / bandwidth` on chip"
)
_SIMPLE = "`startup + elements / lanes`"


def instruction_manual() -> str:
    """Return the page as Markdown."""
    slow = ", ".join(f"`{act.value}`" for act in isa.Activation if act in latency.SLOW_ACTIVATIONS)
    introduction = _INTRODUCTION.format(
        queues=_prose(isa.__doc__).split("\n\n", 1)[1],
        rows="\n".join(_row(layout) for layout in layouts()),
        slow=slow,
    )
    binary = _BINARY.format(
        encoding=_code_blocks(_prose(encode.__doc__).split("\n\n", 1)[1]),
        spaces=", ".join(f"`{space.value}` {code}" for code, space in enumerate(Space)),
    )
    parts = [introduction, *(_section(layout) for layout in layouts()), _window(), binary, _TEXT]
    return "\n".join(parts)


def _row(layout: Layout) -> str:
    units = UNITS[layout.type]
    where = "all" if units == frozenset(Unit) else " ".join(u.value for u in Unit if u in units)
    cycles = _CYCLES.get(layout.type, _SIMPLE)
    return f"| `{layout.mnemonic}` | {layout.opcode:#04x} | {where} | {_spelled(cycles)} |"


def _spelled(cycles: str) -> str:
    return _COPY if cycles == "copy" else cycles


def _section(layout: Layout) -> str:
    text, _, attributes = _prose(layout.type.__doc__).partition("Attributes:\n")
    lines = [f"### `{layout.mnemonic}`\n", text.strip() + "\n"]
    if layout.fields:
        meanings = _meanings(attributes)
        lines += ["| field | kind | default | meaning |", "|---|---|---|---|"]
        lines += [
            f"| `{field.name}` | {_kind(field)} | {_default(field)} "
            f"| {meanings.get(field.name, '')} |"
            for field in layout.fields
        ]
        lines.append("")
    return "\n".join(lines)


def _window() -> str:
    text, _, attributes = _prose(isa.Window.__doc__).partition("Attributes:\n")
    rows = "\n".join(f"| `{name}` | {text} |" for name, text in _meanings(attributes).items())
    return f"### Windows\n\n{text.strip()}\n\n| field | meaning |\n|---|---|\n{rows}\n"


@cache
def _prose(docstring: str | None) -> str:
    """Return a docstring with Markdown's back ticks."""
    return re.sub(r"``(.+?)``", r"`\1`", inspect.cleandoc(docstring or ""), flags=re.DOTALL)


def _meanings(attributes: str) -> dict[str, str]:
    """Return the text of each entry of an ``Attributes`` section."""
    entries = re.findall(
        r"^(\w+): (.*?)(?=^\w+: |\Z)", textwrap.dedent(attributes), re.DOTALL | re.MULTILINE
    )
    return {name: " ".join(text.split()) for name, text in entries}


def _code_blocks(text: str) -> str:
    """Return text whose indented part, introduced by ``::``, is a fenced block."""
    return re.sub(
        r"^::\n\n((?:    .*\n|\n)+)",
        lambda match: f"```\n{textwrap.dedent(match[1]).strip()}\n```\n\n",
        text + "\n",
        flags=re.MULTILINE,
    )


def _kind(field: Field) -> str:
    if field.kind is Kind.CHOICE:
        return " ".join(f"`{choice.value}`" for choice in field.choices)
    count = "" if field.count is None else f"{field.count} "
    return f"{count}{field.kind.value}{', or none' if field.optional else ''}"


def _default(field: Field) -> str:
    if field.default is MISSING:
        return ""
    value = field.default.value if isinstance(field.default, Enum) else field.default
    return f"`{str(value).lower()}`"


if __name__ == "__main__":
    sys.stdout.write(instruction_manual())
