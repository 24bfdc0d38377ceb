import typing

from accnn.backend.binary.instruction_table import OPCODES, layout_of, layouts
from accnn.ir.codec.schema import Form
from accnn.ir.isa.instructions import UNITS, AnyInstruction, Mac, Requant


def test_the_table_lists_every_instruction_once():
    assert set(OPCODES) == set(typing.get_args(AnyInstruction)) == set(UNITS)
    assert len(set(OPCODES.values())) == len(OPCODES)
    assert len({layout.mnemonic for layout in layouts()}) == len(OPCODES)


def test_fields_follow_the_class():
    fields = {field.name: field for field in layout_of(Mac).fields}

    assert list(fields)[:5] == ["acc", "x", "w", "extents", "window"]
    assert fields["extents"].shape.form is Form.SEQUENCE
    assert len(fields["extents"].shape.items) == 8
    assert fields["accumulate"].default is False
    assert "waits" not in fields


def test_only_the_bias_may_be_absent():
    fields = {field.name: field for field in layout_of(Requant).fields}

    assert [name for name, field in fields.items() if field.shape.optional] == ["bias"]
