import io
import re

import pytest
from hypothesis import given, settings

from accnn.backend.asm import assemble, disassemble, write_assembly
from accnn.backend.asm.syntax import parse
from accnn.ir.errors import ParseError, RaceError
from accnn.runtime_sim.simulate import simulate

from ...programs import any_programs, convolution, convolution_reference


@settings(max_examples=60, deadline=None)
@given(any_programs())
def test_assemble_inverts_disassemble(built):
    text = disassemble(built)

    assert assemble(text) == built
    assert disassemble(assemble(text)) == text


def test_text_is_readable():
    text = disassemble(convolution(2)[0])

    assert (
        "  mac op=0 acc=ab0:0x0[480,480,120,24,4] x=gb:0x0[90,90,30,6,1] w=wb0:0x0[108,27,9,3,1] "
        "extents=(3,3,5,6,3,4,1,1) window={stride=(1,1) dilation=(1,1) rows=5 columns=6 top=1 "
        "left=1} x_dtype=u8 w_dtype=s8 x_zero=7 nest=2 layout=1 wait(dma0>=1, ld0>=2)\n"
    ) in text
    assert '.symbol "x" kind=input address=0 type={dtype=u8 shape=(2,3,5,6)}\n' in text
    assert "\n.queue mx0 ; 2\n  ; conv\n" in text


def test_a_file_holds_the_same_text():
    built, _, _ = convolution(2)
    file = io.StringIO()

    write_assembly(built, file)

    assert file.getvalue() == disassemble(built)


def test_a_program_from_text_runs():
    built, constants, inputs = convolution(3)

    result = simulate(assemble(disassemble(built)), constants, inputs)

    assert (result.outputs["y"] == convolution_reference(constants, inputs)).all()


def test_a_wait_changed_in_the_text_is_a_race():
    built, constants, inputs = convolution(3)
    text = disassemble(built)
    changed = text.replace("wait(dma0>=1, ld0>=2)", "wait(dma0>=1, ld0>=1)", 1)

    assert changed != text
    with pytest.raises(RaceError, match=r"mx0\[0\] \(conv\): race on byte 0x0 of wb0"):
        simulate(assemble(changed), constants, inputs, detect_races=True)


HEAD = """.program "tiny"
.arch "a" levels=() scratchpad="gb"
"""
BODY = HEAD + ".queue ld0\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "x.asm:1:1: no .program or no .arch"),
        (HEAD + "  sync", "x.asm:3:3: an instruction before the first .queue"),
        (HEAD + ".quue ld0", "x.asm:3:1: no directive .quue"),
        (HEAD + ".queue ldx", "x.asm:3:8: not a queue"),
        (HEAD + ".space ib bytes=3", "x.asm:3:8: no such space"),
        (HEAD + ".nest n1 temporal=()", "x.asm:3:7: nest n1 where n0 is due"),
        (HEAD + ".operator conv", "x.asm:3:11: .operator needs a name in quotes"),
        (HEAD + '.operator "conv" x=1', "x.asm:3:18: .operator takes nothing but a name"),
        (BODY + "  jump", "x.asm:4:3: no instruction 'jump'"),
        (BODY + "  sync wait(vx0>=1)", "x.asm:4:13: no queue 'vx0'"),
        (BODY + "  sync speed=1", "x.asm:4:8: sync has no speed"),
        (BODY + "  sync op=1 op=2", "x.asm:4:13: op is given twice"),
        (BODY + "  sync op=fast", "x.asm:4:11: op must be an integer"),
        (BODY + "  fill element_bytes=1 value=1", "x.asm:4:3: fill needs dst, shape"),
        (BODY + "  fill shape=3", "x.asm:4:14: shape must be a list in parentheses"),
        (BODY + "  fill dst=3", "x.asm:4:12: dst must be an access such as gb:0x40[8,1]"),
        (BODY + "  mac extents=(1,2)", "x.asm:4:15: extents must have 8 values, has 2"),
        (BODY + "  mac x_dtype=f16", "x.asm:4:15: x_dtype cannot be f16"),
        (BODY + "  mac accumulate=1", "x.asm:4:18: accumulate must be true or false"),
        (BODY + "  sync @", "x.asm:4:8: unexpected '@'"),
        (BODY + "  fill shape=(1", "x.asm:4:16: unexpected end of the text"),
        (BODY + "  fill shape=)", "x.asm:4:14: unexpected ')'"),
    ],
)
def test_errors_point_at_the_place(text, message):
    with pytest.raises(ParseError, match=f"^{re.escape(message)}") as caught:
        assemble(text, source="x.asm")

    line, column = map(int, re.match(r"x\.asm:(\d+):(\d+)", str(caught.value)).groups())
    shown, caret = str(caught.value).split("\n")[1:3]
    assert caret == " " * (column + 1) + "^"
    assert shown.strip() == (text.split("\n")[line - 1] if text else "").strip()


def test_comments_and_line_ends_carry_no_meaning():
    assert len(parse("sync op=1 ; that's all\n wait(3>=4,\n ld0>=1)\n\nhalt", "x")) == 2
