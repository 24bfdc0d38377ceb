"""Errors of the text form: where, the line with a caret, and what was expected."""

from typing import cast

from lark import Token, UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from ..errors import ParseError

_FRIENDLY = {
    "NAME": "a tensor such as %x",
    "STRING": "a text in quotes",
    "WORD": "a word",
    "INT": "an integer",
    "FLOAT": "a number",
    "SHAPED": "a type such as s8<1x64>",
    "RANGE": "a range such as 0:16",
    "WAIT": "a wait such as 3>=17",
    "ADDRESS": "an access such as gb.0+64[8, 1]",
    "ABSENT": "'_'",
    "LBRACE": "'{'",
    "RBRACE": "'}'",
    "LSQB": "'['",
    "RSQB": "']'",
    "LPAR": "'('",
    "RPAR": "')'",
    "COMMA": "','",
    "COLON": "':'",
    "EQUAL": "'='",
    "MORETHAN": "'>'",
    "$END": "the end of the text",
}
_IGNORED = frozenset({"COMMENT", "WS", "NUMBERS"})
"""What is never named as expected; a list of numbers is one that begins with ``[``."""


def at_position(text: str, source: str, line: int, column: int, message: str) -> str:
    """Return a message headed by ``source:line:column`` and followed by the line and a caret.

    Args:
        text: The whole text.
        source: Name of the file.
        line: From 1.
        column: From 1.
        message: What is wrong there.
    """
    lines = text.split("\n")
    shown = lines[line - 1].rstrip("\r") if 1 <= line <= len(lines) else ""
    start = max(0, column - 61)
    window = shown[start : start + 100].replace("\t", " ")
    return f"{source}:{line}:{column}: {message}\n  {window}\n  {' ' * (column - 1 - start)}^"


def unexpected(error: UnexpectedInput, text: str, source: str) -> ParseError:
    """Return the error for text that the grammar does not allow.

    Args:
        error: The parser's error.
        text: The whole text.
        source: Name of the file.
    """
    line, column, found = where(error, text)
    names = _wanted(error) - _IGNORED
    wanted = sorted(_FRIENDLY.get(name, f"'{name.lower()}'") for name in names)
    expected = f"; expected {' or '.join(wanted)}" if wanted else ""
    return ParseError(at_position(text, source, line, column, f"unexpected {found}{expected}"))


def _wanted(error: UnexpectedInput) -> frozenset[str]:
    """Names of the terminals that could stand here."""
    if isinstance(error, UnexpectedToken):
        return frozenset(error.accepts or error.expected)
    if isinstance(error, UnexpectedCharacters):
        return frozenset(error.allowed or ())
    return frozenset()


def where(error: UnexpectedInput, text: str) -> tuple[int, int, str]:
    """Return line and column from 1, and what stands there."""
    if isinstance(error, UnexpectedToken):
        token = cast("Token", error.token)
        if token.type != "$END":
            return error.line, error.column, repr(str(token))
    if isinstance(error, UnexpectedCharacters):
        return error.line, error.column, repr(text[error.pos_in_stream or 0])
    end = text.rstrip()
    return end.count("\n") + 1, len(end) - end.rfind("\n"), "end of the text"
