"""What the lexer reads as one word has its parts where they stand."""

from typing import cast

import pytest
from lark import Token

from accnn.ir.errors import ParseError
from accnn.ir.text.parser import parse_module
from accnn.ir.text.reading.build_syntax import BuildSyntax
from accnn.ir.text.reading.syntax import ListNode


def numbers_of(text: str) -> list[tuple[str, str, int | None, int | None]]:
    whole = Token("NUMBERS", text, line=7, column=5)
    node = BuildSyntax().sequence([whole])
    return [
        (item.type, str(item), item.line, item.column) for item in cast("list[Token]", node.items)
    ]


def test_numbers_of_one_line() -> None:
    assert numbers_of("[1, -2]") == [("INT", "1", 7, 6), ("INT", "-2", 7, 9)]


def test_numbers_of_several_lines() -> None:
    assert numbers_of("[\n  3:4,\n0.5, -inf, 1e-05\n]") == [
        ("RANGE", "3:4", 8, 3),
        ("FLOAT", "0.5", 9, 1),
        ("FLOAT", "-inf", 9, 6),
        ("FLOAT", "1e-05", 9, 12),
    ]


def test_other_lists_are_as_they_were() -> None:
    bracket, word = Token("LSQB", "["), Token("WORD", "a")

    assert BuildSyntax().sequence([bracket, word]) == ListNode(bracket, [word])


@pytest.mark.parametrize("number", ["2.5", "2:3", "a"])
def test_a_wrong_number_in_a_list_is_shown_where_it_stands(number: str) -> None:
    text = f"graph net {{ return }}\nmapping m {{ workload = {{K = 8, stride = [1, {number}]}} }}"

    with pytest.raises(ParseError, match="<text>:2:45: "):
        parse_module(text)
