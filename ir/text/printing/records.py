"""Dataclasses as blocks, tables and records, derived from their fields.

Printers of types are compiled once and cached, since a tile schedule has 10^5 rows and more.
"""

from collections.abc import Callable, Sequence
from enum import Enum
from functools import cache
from operator import attrgetter
from typing import Any, TypeAlias

from ...codec.schema import Column, Form, Shape, columns, is_flat
from ...isa.instructions import Access, Wait
from ...tiles.graph import Range
from ...types import TensorType
from .words import joined, number, word

Spell: TypeAlias = Callable[[Any], str]

MAX_WIDTH = 40
"""Columns of a table are aligned up to this width [character]."""


MARK_EVERY = 10
"""Rows of a table from one comment with the row's number to the next."""


def print_fields(value: object, indent: str, skip: frozenset[str] = frozenset()) -> str:
    """Return the fields of a dataclass, one or more lines each.

    Args:
        value: The dataclass.
        indent: White space before each line.
        skip: Fields that are written elsewhere.
    """
    return "".join(
        f"{indent}{column.name} = {_print_field(getattr(value, column.name), column, indent)}\n"
        for column in columns(type(value))
        if column.name not in skip and _is_written(value, column)
    )


def print_type(value: TensorType) -> str:
    """Return the text of a tensor type."""
    quant = value.quant
    if quant is None:
        return str(value)
    per_tensor = quant.axis is None and len(quant.scale) == 1
    scales = [number(scale) for scale in quant.scale]
    zeros = quant.zero_point
    same = len(set(zeros)) == 1 and len(zeros) == len(scales)
    scale = scales[0] if per_tensor else f"[{', '.join(scales)}]"
    parts = [str(value)[:-1], f"scale = {scale}", f"zero = {zeros[0] if same else list(zeros)}"]
    if quant.axis is not None:
        parts.append(f"axis = {quant.axis}")
    return ", ".join(parts) + ">"


def _is_written(value: object, column: Column) -> bool:
    return column.compared and (column.is_required or getattr(value, column.name) != column.default)


def _print_field(value: Any, column: Column, indent: str) -> str:
    shape, inner = column.shape, indent + "  "
    if value is None:
        return "none"
    if shape.form in (Form.TABLE, Form.BLOCKS) and not value:
        return "[]"
    if shape.form is Form.TABLE:
        return _print_table(value, shape, indent)
    if shape.form is Form.BLOCKS:
        blocks = [f"{inner}{{\n{print_fields(item, inner + '  ')}{inner}}},\n" for item in value]
        return f"[\n{''.join(blocks)}{indent}]"
    if shape.form is Form.RECORD and not is_flat(shape.kind):
        return f"{{\n{print_fields(value, inner)}{indent}}}"
    if shape.form is Form.SEQUENCE and not shape.fixed:
        spell = _spell(shape.items[0])
        return joined([spell(item) for item in value], indent)
    return _spell(shape)(value)


def _print_table(rows: Sequence[object], shape: Shape, indent: str) -> str:
    """Columns but the first that are at their default in every row are left out.

    Other stages refer to rows by number, so every tenth is marked.
    """
    cells: list[list[str]] = []
    names: list[str] = []
    for column in columns(shape.kind):
        values = list(map(attrgetter(column.name), rows))
        if column.is_required or not names or any(value != column.default for value in values):
            names.append(column.name)
            cells.append(list(map(_spell(column.shape), values)))
    widths = [min(MAX_WIDTH, max(map(len, texts))) for texts in cells]
    row = " ".join(f"%-{width}s" for width in widths)
    texts = [(row % line).rstrip() for line in zip(*cells, strict=True)]
    texts[::MARK_EVERY] = [
        f"{text}  // {place * MARK_EVERY}" if place else text
        for place, text in enumerate(texts[::MARK_EVERY])
    ]
    lines = "".join([f"{indent}  {text}\n" for text in texts])
    return f"table ({', '.join(names)}) {{\n{lines}{indent}}}"


def print_instruction(item: object) -> str:
    """Return the text of an instruction: ``halt {}``."""
    return f"{type(item).__name__.lower()} {_spell_record(type(item))(item)}"


@cache
def _spell(shape: Shape) -> Spell:
    """Return the function that writes values of a shape in a line."""
    plain = _spell_plain(shape)
    if not shape.optional:
        return plain
    return lambda value: "none" if value is None else plain(value)


def _spell_plain(shape: Shape) -> Spell:
    if shape.form is Form.RECORD:
        return _spell_record(shape.kind)
    if shape.form is Form.LEAF:
        return _LEAVES[shape.kind]
    if shape.form is Form.SCALAR:
        return _spell_scalar(shape.kind)
    if shape.fixed:
        spells = [_spell(item) for item in shape.items]
        return lambda value: f"[{', '.join(f(x) for f, x in zip(spells, value, strict=True))}]"
    spell = _spell(shape.items[0])
    return lambda value: f"[{', '.join(map(spell, value))}]"


def _spell_scalar(kind: type) -> Spell:
    if kind is bool:
        return lambda value: "true" if value else "false"
    if kind is int:
        return int.__repr__
    if kind is float:
        return number
    if issubclass(kind, Enum):
        return {member: word(str(member.value)) for member in kind}.__getitem__
    return cache(word)


@cache
def _spell_record(kind: type) -> Spell:
    own = [(column, f"{column.name} = ", _spell(column.shape)) for column in columns(kind)]

    def spell(value: object) -> str:
        parts: list[str] = []
        for column, prefix, spell_field in own:
            field = getattr(value, column.name)
            if column.is_required or field != column.default:
                parts.append(prefix + spell_field(field))
        return f"{{{', '.join(parts)}}}"

    return spell


def _spell_range(value: Range) -> str:
    if value.step == 1:
        return f"{value.start}:{value.stop}"
    return f"{value.start}:{value.stop}:{value.step}"


def _spell_access(value: Access) -> str:
    strides = ", ".join(map(str, value.strides))
    return f"{value.space.value}.{value.npu}+{value.address}[{strides}]"


def _spell_wait(value: Wait) -> str:
    return f"{value.queue}>={value.count}"


_LEAVES: dict[type, Spell] = {
    Range: _spell_range,
    Access: _spell_access,
    Wait: _spell_wait,
    TensorType: print_type,
}
