"""Pipelines and their text: ``eliminate-dead,in-order{budget=65536},map{mapper=cosa}``.

Options that have their default are not printed; parsing and printing are exact inverses. Values
that are not plain words are written as JSON strings.
"""

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from ..ir.errors import OptionError, ParseError, PipelineError
from ..ir.module import Stage
from ..ir.suggest import suggest
from .base import STAGES, Pass
from .options import OptionField, option_fields

_TOKEN = re.compile(
    r"""\s*(?:(?P<text>"(?:[^"\\]|\\.)*")|(?P<word>[^\s{},="]+)|(?P<mark>[{},=]))""", re.DOTALL
)


_SETTING = re.compile(r"([^.=\s]+)\.([^.=\s]+)=(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Passes in the order in which they run."""

    passes: tuple[Pass, ...]

    def __str__(self) -> str:
        return ",".join(print_pass(item) for item in self.passes)

    def until(self, name: str) -> "Pipeline":
        """Return the pipeline up to the (last) pass of a name, inclusive.

        Raises:
            PipelineError: No pass of this pipeline has the name.
        """
        names = [item.name for item in self.passes]
        if name not in names:
            raise PipelineError(
                f"the pipeline has no pass {name!r}", hint=f"its passes: {self._names()}"
            )
        return Pipeline(self.passes[: len(names) - names[::-1].index(name)])

    def with_setting(self, setting: str) -> "Pipeline":
        """Return the pipeline with one option changed in every pass of a name.

        Args:
            setting: ``PASS.OPTION=VALUE``, the value as in the text of a pipeline.

        Raises:
            OptionError: It is not of that form, there is no such pass or option, or the value is of
                another type.
        """
        match = _SETTING.fullmatch(setting)
        if match is None:
            raise OptionError(
                f"{setting!r} is not PASS.OPTION=VALUE", hint="e.g. schedule-cosma.rounds=0"
            )
        name, option, value = match.groups()
        if name not in [item.name for item in self.passes]:
            raise OptionError(
                f"{setting}: the pipeline has no pass {name!r}", hint=f"its passes: {self._names()}"
            )
        return Pipeline(
            tuple(
                _with_option(item, option, value) if item.name == name else item
                for item in self.passes
            )
        )

    def _names(self) -> str:
        return ", ".join(dict.fromkeys(item.name for item in self.passes))

    def check(self, present: frozenset[Stage]) -> frozenset[Stage]:
        """Check that every pass finds what it needs, and return the stages present at the end.

        Args:
            present: Stages of the module that the pipeline starts from.

        Raises:
            PipelineError: A pass needs a stage that is not present when its turn comes.
        """
        dropped: dict[Stage, Pass] = {}
        for number, item in enumerate(self.passes, start=1):
            for stage in STAGES:
                if stage in item.needs - present:
                    raise _missing(number, item, stage, dropped.get(stage))
            dropped.update((stage, item) for stage in item.drops())
            present = present - item.drops() | item.gives
        return present


def _missing(number: int, item: Pass, stage: Stage, culprit: Pass | None) -> PipelineError:
    reason = "no earlier pass gives it" if culprit is None else f"{culprit.name} dropped it"
    return PipelineError(
        f"pass {number}, {item.name}, needs {stage}: it is not in the module, and {reason}",
        hint=f"put a pass that gives {stage} before {item.name}",
    )


def _with_option(item: Pass, name: str, text: str) -> Pass:
    option = _find_option(type(item), name)
    return replace(item, **{name: _parse_value(item.name, option, text)})


def _parse_value(name: str, option: OptionField, text: str) -> object:
    """Return the value of an option of a pass from its text, which may stand in quotes."""
    try:
        return option.parse(_unquoted(text), quoted=text.startswith('"'))
    except OptionError as error:
        raise OptionError(f"{name}: {error.message}", hint=error.hint) from None
    except ValueError:
        raise OptionError(f"{name}: {option.name} is {text}, no valid string") from None


def _unquoted(text: str) -> str:
    """Return what a word or a string stands for.

    Raises:
        ValueError: It is a string that is not JSON's.
    """
    return str(json.loads(text)) if text.startswith('"') else text


def print_pass(item: Pass) -> str:
    """Return the text of one pass with the options that differ from their defaults."""
    options = ",".join(
        f"{option.name}={option.print(getattr(item, option.name))}"
        for option in option_fields(type(item))
        if getattr(item, option.name) != option.default
    )
    return f"{item.name}{{{options}}}" if options else item.name


def parse_pipeline(
    text: str, known: Sequence[type[Pass]], broken: Mapping[str, OptionError] = MappingProxyType({})
) -> Pipeline:
    """Read a pipeline.

    Args:
        text: For example ``eliminate-dead,in-order{budget=65536}``; empty text has no pass.
        known: The passes that may stand in it.
        broken: Why others cannot, by name.

    Raises:
        ParseError: The text breaks the syntax.
        PipelineError: There is no such pass.
        OptionError: A pass has no such option, or the value is of another type.
    """
    return _Reader(text, known, broken).pipeline()


def find_pass(name: str, known: Sequence[type[Pass]]) -> type[Pass]:
    """Return the class of a pass.

    Raises:
        PipelineError: There is no such pass; the hint names the most similar ones.
    """
    by_name = {item.name: item for item in known}
    if name not in by_name:
        raise PipelineError(f"no pass named {name!r}", hint=suggest(name, by_name))
    return by_name[name]


class _Reader:
    """Recursive descent over the tokens of one pipeline."""

    def __init__(
        self, text: str, known: Sequence[type[Pass]], broken: Mapping[str, OptionError]
    ) -> None:
        self.text = text
        self.known = known
        self.broken = broken
        self.position = 0

    def pipeline(self) -> Pipeline:
        passes: list[Pass] = []
        if self.peek():
            passes.append(self.one_pass())
        while self.peek():
            self.expect(",")
            passes.append(self.one_pass())
        return Pipeline(tuple(passes))

    def one_pass(self) -> Pass:
        name = self.word("the name of a pass")
        if name in self.broken:
            raise self.broken[name]
        found = find_pass(_unquoted(name), self.known)
        values: dict[str, object] = {}
        if self.peek() == "{":
            self.expect("{")
            while self.peek() != "}":
                self.option(found, values)
                if self.peek() != "}":
                    self.expect(",")
            self.expect("}")
        return found(**values)

    def option(self, found: type[Pass], values: dict[str, object]) -> None:
        start = self.position
        option = _find_option(found, _unquoted(self.word("the name of an option")))
        if option.name in values:
            raise self.error(f"option {option.name!r} is given twice", start)
        self.expect("=")
        raw = self.word(f"a value for {option.name}")
        values[option.name] = _parse_value(found.name, option, raw)

    def peek(self) -> str:
        """Return the next token, empty at the end."""
        if not self.text[self.position :].strip():
            return ""
        match = _TOKEN.match(self.text, self.position)
        if match is None:
            raise self.error("a string that does not end")
        return match.group(match.lastgroup or 0)

    def take(self) -> str:
        token = self.peek()
        match = _TOKEN.match(self.text, self.position)
        self.position = len(self.text) if match is None else match.end()
        return token

    def word(self, wanted: str) -> str:
        token = self.peek()
        if not token or token in "{},=":
            raise self.error(f"expected {wanted}, found {_shown(token)}")
        try:
            _unquoted(token)
        except ValueError:
            raise self.error(f"{token} is not a valid string") from None
        return self.take()

    def expect(self, mark: str) -> None:
        token = self.peek()
        if token != mark:
            raise self.error(f"expected {mark!r}, found {_shown(token)}")
        self.take()

    def error(self, message: str, position: int | None = None) -> ParseError:
        """Return the error for the token at a position, by default the next one."""
        start = self.position if position is None else position
        rest = self.text[start:]
        column = start + len(rest) - len(rest.lstrip())
        line = self.text.replace("\n", " ")
        return ParseError(f"pipeline:1:{column + 1}: {message}\n  {line}\n  {' ' * column}^")


def _shown(token: str) -> str:
    return repr(token) if token else "the end"


def _all_options(name: str, options: Mapping[str, OptionField]) -> str:
    """Return a hint: the most similar name, and every option with its type."""
    known = ", ".join(f"{item.name} ({item.type_text})" for item in options.values())
    close = difflib.get_close_matches(name, options, n=1)
    return f"{f'did you mean {close[0]}? ' if close else ''}its options: {known or 'none'}"


def _find_option(found: type[Pass], name: str) -> OptionField:
    options = {option.name: option for option in option_fields(found)}
    if name not in options:
        raise OptionError(f"{found.name} has no option {name!r}", hint=_all_options(name, options))
    return options[name]
