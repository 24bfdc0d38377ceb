import re
from dataclasses import dataclass
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.ir.errors import OptionError, ParseError, PipelineError
from accnn.ir.module import Stage
from accnn.passes.base import Pass
from accnn.passes.options import option_fields
from accnn.passes.pipeline import Pipeline, find_pass, parse_pipeline

from .sample_passes import SAMPLES, GivePlan, Mood, NeedPlan, RenameGraph, TuneAll

GRAPH = frozenset({Stage.GRAPH})


def parse(text: str) -> Pipeline:
    return parse_pipeline(text, SAMPLES)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.just("none")


@settings(max_examples=100, deadline=None)
@given(
    st.builds(
        TuneAll,
        budget=st.integers(0, 2**40),
        factor=st.floats(allow_nan=False),
        fast=st.booleans(),
        label=TEXT,
        mood=st.sampled_from(Mood),
        limit=st.none() | st.integers(),
        note=st.none() | TEXT,
    )
)
def test_parsing_inverts_printing(item: TuneAll) -> None:
    pipeline = Pipeline((RenameGraph(), item, item))

    assert parse(str(pipeline)) == pipeline


@pytest.mark.parametrize(
    "text",
    [
        "",
        "tune-all",
        "rename-graph{to=b},tune-all{budget=65536,mood=wild-ish}",
        "tune-all{fast=true,limit=3,note=none}",
        'tune-all{label="a b"},tune-all{note="none"}',
    ],
)
def test_printing_inverts_parsing(text: str) -> None:
    assert str(parse(text)) == text


def test_white_space_and_defaults_are_free() -> None:
    assert parse(" tune-all { budget = 8 , } ,\n rename-graph ") == parse("tune-all,rename-graph")


def test_only_what_differs_from_the_default_is_printed() -> None:
    assert str(Pipeline((TuneAll(factor=1.5, fast=True),))) == "tune-all{fast=true}"


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("tune-al", PipelineError, "no pass named 'tune-al'\n  hint: did you mean tune-all?"),
        ("zzz", PipelineError, "hint: known: break-things, drop-outputs, give-plan"),
        ("tune-all{budgets=1}", OptionError, "tune-all has no option 'budgets'\n.*mean budget"),
        ("tune-all{budget=x}", OptionError, "tune-all: option 'budget' is 'x', expected int$"),
        ("tune-all{budget=1.5}", OptionError, "expected int"),
        ("tune-all{budget=none}", OptionError, "expected int"),
        ("tune-all{limit=yes}", OptionError, r"expected int\|none"),
        ("tune-all{factor=big}", OptionError, "expected float"),
        ("tune-all{fast=1}", OptionError, "expected bool"),
        ("tune-all{mood=sad}", OptionError, r"'sad', expected calm\|wild-ish"),
        ("tune-all{budget=-1}", OptionError, "budget is -1, must be 0 or more"),
        ("tune-all{budget=1,budget=2}", ParseError, "1:19: option 'budget' is given twice"),
        ("tune-all{budget}", ParseError, "pipeline:1:16: expected '=', found '}'"),
        ("tune-all{budget=}", ParseError, "expected a value for budget, found '}'"),
        ("tune-all{budget=1", ParseError, "expected ',', found the end"),
        ("tune-all rename-graph", ParseError, "pipeline:1:10: expected ',', found 'rename-graph'"),
        ("tune-all,", ParseError, "expected the name of a pass, found the end"),
        ('tune-all{label="a', ParseError, "a string that does not end"),
        ('tune-all{label="\\q"}', ParseError, "is not a valid string"),
    ],
)
def test_mistakes_are_told(text: str, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        parse(text)


def test_a_syntax_error_shows_where() -> None:
    with pytest.raises(ParseError, match=re.escape("\n  tune-all{budget}\n                 ^")):
        parse("tune-all{budget}")


class TestStages:
    def test_a_pass_finds_what_an_earlier_one_gives(self) -> None:
        present = Pipeline((GivePlan(), NeedPlan())).check(GRAPH)

        assert present == {Stage.GRAPH, Stage.GRAPH_SCHEDULE}

    def test_a_stage_that_nobody_gives(self) -> None:
        with pytest.raises(PipelineError, match="pass 1, need-plan, needs graph_schedule.*no earl"):
            Pipeline((NeedPlan(), GivePlan())).check(GRAPH)

    def test_a_stage_that_was_derived_from_what_is_replaced(self) -> None:
        with pytest.raises(PipelineError, match="pass 3, need-plan.*and rename-graph dropped it"):
            Pipeline((GivePlan(), RenameGraph(), NeedPlan())).check(GRAPH)

    def test_the_architecture_survives_a_new_graph(self) -> None:
        assert Stage.ARCH in Pipeline((RenameGraph(),)).check(GRAPH | {Stage.ARCH})


class TestUntil:
    def test_ends_with_the_last_of_that_name(self) -> None:
        pipeline = parse("tune-all,rename-graph,tune-all{budget=1},give-plan")

        assert str(pipeline.until("tune-all")) == "tune-all,rename-graph,tune-all{budget=1}"

    def test_an_absent_pass(self) -> None:
        with pytest.raises(PipelineError, match="has no pass 'map'\n  hint: its passes: tune-all"):
            parse("tune-all").until("map")


def test_options_tell_their_types() -> None:
    types = {option.name: option.type_text for option in option_fields(TuneAll)}

    assert types["mood"] == "calm|wild-ish"
    assert types["limit"] == "int|none"
    assert TuneAll.summary() == "Take every type of option and do nothing."


def test_an_option_without_default_is_refused() -> None:
    @dataclass(frozen=True)
    class Bad(Pass):
        name: ClassVar[str] = "bad"
        size: int

    with pytest.raises(TypeError, match="'size' of Bad has no default"):
        option_fields(Bad)


def test_an_option_of_another_type_is_refused() -> None:
    @dataclass(frozen=True)
    class Bad(Pass):
        name: ClassVar[str] = "bad"
        sizes: tuple[int, ...] = ()

    with pytest.raises(TypeError, match="'sizes' of Bad: tuple has no text"):
        option_fields(Bad)


def test_find_pass() -> None:
    assert find_pass("give-plan", SAMPLES) is GivePlan
