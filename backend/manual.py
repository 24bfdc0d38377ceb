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
from typing import cast

from ..ir.codec.schema import Column, Form, Shape
from ..ir.isa import instructions as isa
from ..ir.isa import latency
from ..ir.isa.instructions import UNITS, Instruction, Space, Unit
from ..ir.operators.functions import FUNCTIONS, SIMPLE, SLOW
from .binary import encode
from .binary.instruction_table import FORMAT_VERSION, InstructionLayout, layouts

_INTRODUCTION = f"""\
# Instruction set

<!-- Written by `python -m accnn.backend.manual`; edit the docstrings that it is made of. -->

{{queues}}

Encoding and assembly below are version {FORMAT_VERSION}. The table in
`backend/binary/instruction_table.py` drives both, and this page; what an instruction means is
executable in `runtime_sim/functional/execute.py`.

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
vector unit's. `cost` is {SLOW} for division and for {{slow}}; it is
{SIMPLE} for all else. All divisions round up, and bandwidths are exact ratios, so
times are integers on every machine. The code is `runtime_sim/timing/`; what loops do on the array,
`runtime_sim/array/`. Schedulers predict by the same rules in other code,
`passes/scheduling/timing/`.

Every instruction has `waits` and `op`, the number of the operator that it works for (-1: none).
"""

_BINARY = """\
## Binary form

{encoding}
Codes of choices count from 0 in the order in which this page lists them. Spaces: {spaces}.
"""

_TEXT = """\
## Assembly text

The text of a program is the section `program` of
[the text form of modules](ir.md#all-other-stages), and `program.asm` holds just that. An
instruction is its name with fields in braces; those at their default are left out. Every queue
carries its number and name as a comment, every run of instructions the name of its operator.

| value | text |
|---|---|
| integer, real, flag, choice | `7`, `0.5`, `true`, `relu` |
| access | `gb.0+64[8, 1]`: space, NPU (0 for shared spaces), address, strides |
| wait | `3>=17`: queue number 3 has retired 17 instructions |
| integers, reals | `[3, 3]` |
| window | `{stride = [1, 1], dilation = [1, 1], rows = 5, columns = 6, top = 1, left = 1}` |
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
    slow = ", ".join(f"`{act}`" for act, item in FUNCTIONS.items() if item.cycles == SLOW)
    introduction = _INTRODUCTION.format(
        queues=prose(isa.__doc__).split("\n\n", 1)[1],
        rows="\n".join(_row(layout) for layout in layouts()),
        slow=slow,
    )
    binary = _BINARY.format(
        encoding=_code_blocks(prose(encode.__doc__).split("\n\n", 1)[1]),
        spaces=", ".join(f"`{space.value}` {code}" for code, space in enumerate(Space)),
    )
    parts = [introduction, *(_section(layout) for layout in layouts()), _window(), binary, _TEXT]
    return "\n".join(parts)


def _row(layout: InstructionLayout) -> str:
    units = UNITS[layout.type]
    where = "all" if units == frozenset(Unit) else " ".join(u.value for u in Unit if u in units)
    cycles = _CYCLES.get(layout.type, _SIMPLE)
    return f"| `{layout.mnemonic}` | {layout.opcode:#04x} | {where} | {_spelled(cycles)} |"


def _spelled(cycles: str) -> str:
    return _COPY if cycles == "copy" else cycles


def _section(layout: InstructionLayout) -> str:
    text, _, attributes = prose(layout.type.__doc__).partition("Attributes:\n")
    lines = [f"### `{layout.mnemonic}`\n", text.strip() + "\n"]
    if layout.fields:
        texts = _inherited_meanings(layout.type) | meanings(attributes)
        lines += ["| field | kind | default | meaning |", "|---|---|---|---|"]
        lines += [
            f"| `{field.name}` | {_kind(field.shape)} | {_default(field)} "
            f"| {texts.get(field.name, '')} |"
            for field in layout.fields
        ]
        lines.append("")
    return "\n".join(lines)


def _inherited_meanings(kind: type[isa.Instruction]) -> dict[str, str]:
    """Return the text of each field of the instruction that one goes on from, if it does."""
    (base,) = kind.__bases__
    return meanings(prose(base.__doc__).partition("Attributes:\n")[2])


def _window() -> str:
    text, _, attributes = prose(isa.Window.__doc__).partition("Attributes:\n")
    rows = "\n".join(f"| `{name}` | {text} |" for name, text in meanings(attributes).items())
    return f"### Windows\n\n{text.strip()}\n\n| field | meaning |\n|---|---|\n{rows}\n"


@cache
def prose(docstring: str | None) -> str:
    """Return a docstring with Markdown's back ticks."""
    return re.sub(r"``(.+?)``", r"`\1`", inspect.cleandoc(docstring or ""), flags=re.DOTALL)


def meanings(attributes: str) -> dict[str, str]:
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


def _kind(shape: Shape) -> str:
    if shape.form is Form.SEQUENCE:
        count = f"{len(shape.items)} " if shape.fixed else ""
        return f"{count}{_KINDS[shape.items[0].kind]}s"
    if issubclass(shape.kind, Enum):
        return " ".join(f"`{choice.value}`" for choice in shape.kind)
    kind = _KINDS.get(cast("type[object]", shape.kind), shape.kind.__name__.lower())
    return f"{kind}{', or none' if shape.optional else ''}"


_KINDS: Mapping[type, str] = {int: "integer", float: "real", bool: "flag"}


def _default(field: Column) -> str:
    if field.default is MISSING:
        return ""
    value = field.default.value if isinstance(field.default, Enum) else field.default
    return f"`{str(value).lower()}`"


if __name__ == "__main__":
    sys.stdout.write(instruction_manual())
