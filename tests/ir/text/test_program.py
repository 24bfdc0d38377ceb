"""Assembly: the text of a program by itself."""

import re

import pytest
from hypothesis import given, settings

from accnn.ir.errors import ParseError, RaceError
from accnn.ir.isa.program import Program
from accnn.ir.text.parser import parse_program
from accnn.ir.text.printing.program import print_program
from accnn.runtime_sim.simulate import simulate
from tests.programs import any_programs, convolution, convolution_reference
from tests.thinned import examples


def text_of(program: Program) -> str:
    return "".join(print_program(program))


@settings(max_examples=examples(60), deadline=None)
@given(any_programs())
def test_parsing_inverts_printing(built):
    text = text_of(built)

    assert parse_program(text) == built
    assert text_of(parse_program(text)) == text


def test_text_is_readable():
    text = text_of(convolution(2)[0])

    assert (
        "        mac {waits = [0>=1, 1>=2], op = 0, acc = ab.0+0[480, 480, 120, 24, 4], "
        "x = gb.0+0[90, 90, 30, 6, 1], w = wb.0+0[108, 27, 9, 3, 1], "
    ) in text
    assert "\n    x input    0   u8<2x3x5x6>\n" in text
    assert "    {  // 2: mx0\n      unit = mx\n" in text
    assert "      instructions = code {\n        // conv\n        mac {" in text


def test_a_program_from_text_runs():
    built, constants, inputs = convolution(3)

    result = simulate(parse_program(text_of(built)), constants, inputs)

    assert (result.outputs["y"] == convolution_reference(constants, inputs)).all()


def test_a_wait_changed_in_the_text_is_a_race():
    built, constants, inputs = convolution(3)
    text = text_of(built)
    changed = text.replace("waits = [0>=1, 1>=2]", "waits = [0>=1, 1>=1]", 1)

    assert changed != text
    with pytest.raises(RaceError, match=r"mx0\[0\] \(conv\): race on byte 0x0 of wb0"):
        simulate(parse_program(changed), constants, inputs, detect_races=True)


HEAD = "program p {\n"
CODE = f"{HEAD} queues = [{{unit = ld index = 0 instructions = code {{\n"
END = "}}]}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "x.asm:1:1: expected one program"),
        ("graph g { return }", "x.asm:1:1: expected one program"),
        (HEAD + "}" + HEAD + "}", "x.asm:2:2: the module has two sections program"),
        (HEAD + "speed = 1}", "x.asm:2:1: Program has no field 'speed'"),
        (HEAD + "}", "x.asm:1:1: Program lacks arch"),
        (HEAD + "spaces = [{space = ib bytes = 3}]}", "x.asm:2:20: no Space 'ib'"),
        (CODE + "jump {}" + END, "x.asm:3:1: no instruction 'jump'"),
        (CODE + "sync {speed = 1}" + END, "x.asm:3:7: Sync has no field 'speed'"),
        (CODE + "sync {op = 1, op = 2}" + END, "x.asm:3:15: op is given twice"),
        (CODE + "sync {op = fast}" + END, "x.asm:3:12: expected an integer, found 'fast'"),
        (CODE + "fill {element_bytes = 1, value = 1}" + END, "x.asm:3:1: Fill lacks dst"),
        (CODE + "fill {shape = 3}" + END, "x.asm:3:15: expected a list"),
        (CODE + "fill {dst = 3}" + END, "x.asm:3:13: expected an access such as gb.0+64[8, 1]"),
        (CODE + "mac {extents = [1, 2]}" + END, "x.asm:3:16: expected a list of 8"),
        (CODE + "mac {x_dtype = f16}" + END, "x.asm:3:16: no DType 'f16'"),
        (CODE + "mac {accumulate = 1}" + END, "x.asm:3:19: expected true or false"),
        (CODE + "sync @", "x.asm:3:6: unexpected '@'"),
        (CODE + "fill {shape = [1", "x.asm:3:17: unexpected end of the text"),
    ],
)
def test_errors_point_at_the_place(text, message):
    with pytest.raises(ParseError, match=f"^{re.escape(message)}"):
        parse_program(text, source="x.asm")
