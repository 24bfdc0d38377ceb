"""Damaged text is refused with a position, never with an error of Python."""

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.ir.errors import AccnnError, ParseError, VerifyError
from accnn.ir.text.parser import parse_module
from accnn.ir.text.printer import print_module
from tests.flow import compile_graph
from tests.networks import residual_network
from tests.thinned import examples

from .test_flow import NET

TEXT = (
    NET
    + """
arch tiny {
  levels = table (name, holds, capacity) {
    dram [W, I, O] none
    gb   [W, I, O] 4096
  }
  scratchpad = gb
}

graph_schedule {
  budget = 4096
  order = [a, c, p, f, y]
  status = heuristic
}

mapping a {
  mapper = hand
  status = heuristic
  objective = 1.0
  workload = {K = 8, stride = [2, 2]}
  dram [W, I, O]
    for K 8
}

tile_schedule {
  graph = {
    operators = [a]
    tiles = table (tensor, role, view, box, element_bytes, space) {
      a O [1] [0:8] 1 gb
    }
    ops = []
  }
  events = []
  placements = []
  scheduler = none_at_all
  cycles = 0
}

program net {
  arch = {
    name = tiny
    levels = []
    scratchpad = gb
  }
  spaces = []
  symbols = table (name, kind, address, type) {
    x input 0 s8<1x4, scale = 0.5, zero = 0>
  }
  operators = []
  nests = []
  queues = [
    {
      unit = dma
      index = 0
      instructions = code {
        fill {waits = [1>=2], dst = gb.0+8[1], shape = [8], element_bytes = 1, value = 0}
      }
    }
  ]
}
"""
)
TOKENS = sorted(set(re.findall(r'"[^"]*"|%?[\w.:+<>=-]+|[^\s\w]', TEXT)))


def test_the_whole_text_is_read() -> None:
    assert len(parse_module(TEXT).stages) == 6


@st.composite
def damaged(draw):
    """The text with a few of its tokens replaced, removed or doubled."""
    pieces = re.split(r"(\s+|[\[\]{}(),=])", TEXT)
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(pieces) - 1))
        pieces[place] = draw(
            st.sampled_from(["", "[", "]", "1", "-1", "none", pieces[place] * 2])
            | st.sampled_from(TOKENS)
            | st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
        )
    return "".join(pieces)


@settings(max_examples=examples(150), deadline=None, database=None)
@given(damaged())
def test_damage_is_refused_with_a_position(text: str) -> None:
    try:
        parse_module(text, source="net.ir", verify=True)
    except AccnnError as error:
        assert isinstance(error, ParseError | VerifyError)
        assert re.match(r"net\.ir:[0-9]+:[0-9]+: ", str(error))
        assert re.search(r"\n +\^", str(error))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("status = heuristic\n}", "status = [a]\n}", "expected a word or a text"),
        ("budget = 4096", "budget = [4096]", "expected an integer"),
        (
            "qlo = 3",
            "qlo = [[3]]",
            "expected a number, true, false or a text in quotes, found '\\['",
        ),
        ("qlo = 3", "qlo = gb", "expected a number, true, false or a text in quotes, found 'gb'"),
        ("stride = [2, 2]}\n  dram", "stride = [2]}\n  dram", "expected a list of 2"),
        ("workload = {K = 8, stride = [2, 2]}", "workload = 8", "expected the fields of Workload"),
        ("  workload = {K = 8, stride = [2, 2]}\n", "", "a mapping needs one workload"),
        ("for K 8", "for X 8", "no Dim 'X'\n"),
        ("[0:8]", "[8]", "expected a range such as 0:16, found '8'"),
        ("[1>=2]", "[2]", "expected a wait such as 3>=17, found '2'"),
        ("dst = gb.0+8[1]", "dst = gb", "expected an access such as gb.0\\+64"),
        ("dst = gb.0+8[1]", "dst = bg.0+8[1]", "no space 'bg'"),
        ("0 s8<1x4, scale = 0.5, zero = 0>", "0 s8", "expected a type such as s8<1x64>"),
        ("instructions = code {", "instructions = {", "unexpected '\\{'"),
        ("ops = []", "ops = 3", "expected a table or a list, found '3'"),
        ("queues = [", "queuse = [", "Program has no field 'queuse'\n.*\n.*\n  hint: did you mean"),
        ("cycles = 0", "cycles = 0 cycles = 1", "cycles is given twice"),
        ("(name, holds, capacity)", "(name, name, capacity)", "a column is named twice"),
        ("(name, holds, capacity)", "(name, hold, capacity)", "MemoryLevel has no field 'hold'"),
        ("zero = 0, axis = 0>", "zeros = 0, axis = 0>", "a type has no 'zeros'"),
        ("%p = ", "%p, %q = ", "2 results and 1 types do not match"),
    ],
)
def test_each_mistake_has_its_message(old: str, new: str, message: str) -> None:
    assert old in TEXT

    with pytest.raises(ParseError, match=message):
        parse_module(TEXT.replace(old, new, 1))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"subject": 9999}, r"event 0 \(load\): there is no tile 9999"),
        ({"index": 7}, r"event 0 \(load\) runs on dma7, which simba lacks"),
    ],
)
def test_a_schedule_of_what_is_not_there_is_refused_where_it_stands(
    changes: dict[str, int], message: str
) -> None:
    module = compile_graph(*residual_network(), "simba", all_off_chip=False).module
    schedule = module.tile_schedule
    assert schedule is not None
    first, *others = schedule.events
    damaged = replace(schedule, events=(replace(first, **changes), *others))
    text = print_module(replace(module, tile_schedule=damaged, program=None))
    line = 1 + text[: text.index("\ntile_schedule {")].count("\n") + 1

    with pytest.raises(VerifyError, match=f"net.ir:{line}:1: {message}"):
        parse_module(text, source="net.ir", verify=True)
