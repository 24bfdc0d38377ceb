"""The runner of mutants: what it changes, which tests it asks, who is dead and who is alive."""

import ast
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.mutants import run
from tests.mutants.__main__ import at_line, summary, survivors
from tests.mutants.covered import COVERED, ROOT, files_under, mutants_under, sample, stages_of
from tests.mutants.mutants import Mutant, mutants_of
from tests.mutants.run import Questions, Verdict
from tests.mutants.trial import Outcome, Trial, judge
from tests.mutants.watch import Seen, read, written

SOURCE = '''"""A module; a text is not 1 < 2."""

def clamp(value: "int | None", least: int) -> int:
    """Return at least 1."""
    if value is None or value < least:
        raise ValueError(f"{value + 1} is below {least}")
    return min(value, least + 10)
'''


def changes(source: str) -> set[tuple[str, str, str]]:
    return {(item.operator, item.before, item.after) for item in mutants_of("x.py", source)}


SWAPPED = ("arguments swapped", "g.min(a, b)", "(g.min(b, a))")


@pytest.mark.parametrize(
    "source, wanted",
    [
        ("a < b", {("comparison", "a < b", "(a <= b)")}),
        (
            "a < b <= c",
            {
                ("comparison", "a < b <= c", "(a <= b <= c)"),
                ("comparison", "a < b <= c", "(a < b < c)"),
            },
        ),
        ("a + b", {("arithmetic", "a + b", "(a - b)")}),
        ("x = 7", {("constant", "7", "(8)"), ("constant", "7", "(6)")}),
        ("x = True", {("constant", "True", "(False)")}),
        ("not a", {("negation", "not a", "(a)")}),
        ("a and b", {("and, or", "a and b", "(a or b)")}),
        ("min(a)", {("min, max", "min", "(max)"), ("statement dropped", "min(a)", "pass")}),
        ("x = f(a, b)", {("arguments swapped", "f(a, b)", "(f(b, a))")}),
        (
            "x += y",
            {("arithmetic", "x += y", "x -= y"), ("statement dropped", "x += y", "pass")},
        ),
        ("def f():\n    return a", {("return value dropped", "return a", "return None")}),
        ("x = a if b else c", {("condition negated", "b", "(not (b))")}),
        ("def f(a: Literal[1]) -> Literal[2]: ...", set()),
        ("x = f(a, a)", set()),
        ("x = math.gcd(a, b)", set()),
        ("x = min(a, b)", {("min, max", "min", "(max)")}),
        ("x = g.min(a, b)", {("min, max", "g.min", "(g.max)"), SWAPPED}),
        ("x = f'{1 + 2}'", set()),
        ("x = zip(a, strict=True)", set()),
        ("@dataclass(frozen=True)\nclass C: ...", set()),
        ("X = A | B", set()),
    ],
)
def test_the_changes_of_a_source(source: str, wanted: set[tuple[str, str, str]]) -> None:
    assert changes(source) == wanted


def test_every_mutant_can_be_read_and_differs() -> None:
    found = mutants_of("x.py", SOURCE)

    assert {item.line for item in found} == {5, 6, 7}
    for item in found:
        planted = item.planted(SOURCE)
        assert ast.dump(ast.parse(planted)) != ast.dump(ast.parse(SOURCE))
        assert item.planted(SOURCE).count("\n") == SOURCE.count("\n")


def test_mutants_know_the_function_that_they_are_in() -> None:
    source = """
x = 1
class C:
    y = 5
    @cache
    def f(a=2):
        def g():
            return [a + 3 for a in x]
        return g() + 4
"""
    found = {item.before: item.function for item in mutants_of("x.py", source)}

    assert found["1"] is None
    assert found["2"] is None
    assert found["5"] is None
    assert found["3"] == "C.f.<locals>.g"
    assert found["4"] == "C.f"


def test_texts_of_several_bytes_move_no_change() -> None:
    (_, first) = mutants_of("x.py", "x = 'ä€', 1\n")

    assert first.planted("x = 'ä€', 1\n") == "x = 'ä€', (2)\n"


@pytest.mark.slow
def test_rooms_are_there_and_drawn_in_equal_shares() -> None:
    groups = [mutants_under(paths) for paths in COVERED.values()]
    drawn = sample(groups, 40, seed=3)

    assert all(groups)
    assert [sum(item in group for item in drawn) for group in groups] == [4] * len(groups)
    assert sample(groups, 40, seed=3) == drawn
    assert sample(groups, 40, seed=4) != drawn


def test_every_covered_module_parses_with_every_mutant() -> None:
    for file in files_under(COVERED["cosma"][:2]):
        source = (ROOT / file).read_text()
        for item in mutants_of(file, source):
            ast.parse(item.planted(source))


@pytest.mark.slow
def test_the_tests_of_a_module_come_nearest_first() -> None:
    first, *_, judges = near = stages_of("ir/tiles/hazards.py")
    *others, far = stages_of("ir/tiles/hazards.py", far=True)

    assert first == ["tests/ir/tiles/test_hazards.py"]
    assert "tests/mutants/exams.py" in judges
    assert others == near
    assert far


def test_tests_in_folders_of_its_folder_are_asked_between_those_beside_and_those_above() -> None:
    stages = stages_of("models/onnx_import/fused.py")
    wanted = ("test_operators.py", "operators/test_byte_products.py")
    places = [f"tests/models/onnx_import/{name}" for name in wanted] + [
        "tests/models/test_apart.py"
    ]
    found = [next(at for at, stage in enumerate(stages) if place in stage) for place in places]

    assert found == sorted(set(found))


def test_tests_in_the_folders_above_are_asked_after_those_beside() -> None:
    beside, above, _ = stages_of("models/onnx_import/operators/quantised/qoperator.py")

    assert "tests/models/onnx_import/operators/test_pooling.py" in beside
    assert "tests/models/onnx_import/test_integers.py" in above


TINY = """def least(a, b):
    while a < 0:
        a += 1
    return min(a, b, 4)

from functools import cache

@cache
def kept(a):
    return a
"""
TESTS = (
    "from accnn_tiny import least\n\n\n"
    "def test_small():\n    assert least(3, 4) == 3\n\n\n"
    "def test_below():\n    assert least(-3, 4) == 0\n"
)


WATCHED = """

import os
from accnn_tiny import kept

def test_kept():
    assert kept(1) == 1

def test_kept_again():
    assert kept(1) == 1

def test_parts():
    pid = os.fork()
    if not pid:
        os._exit(0)
    os.waitpid(pid, 0)

def test_that_fails():
    assert kept(1) == 3
"""


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module and its tests, which are no part of the package."""
    (tmp_path / "accnn_tiny.py").write_text(TINY)
    (tmp_path / "test_tiny.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(Mutant, "module", property(lambda _: "accnn_tiny"))
    return tmp_path


def tried(
    folder: Path,
    operator: str,
    limit: float = 20,
    limits: Mapping[str, float] | None = None,
) -> tuple[str, str | None]:
    mutant = next(
        item
        for item in mutants_of("accnn_tiny.py", TINY)
        if (item.operator, item.before) == tuple(operator.split(": "))
    )
    outcome = judge(Trial(mutant, folder, ("test_tiny.py",), False, limit, limits))
    return outcome.end, outcome.failed


def test_a_trial_tells_dead_from_alive(tiny: Path) -> None:
    assert judge(Trial(None, tiny, ("test_tiny.py",), False, 20)).end == "passed"
    assert tried(tiny, "min, max: min") == ("failed", "test_tiny.py::test_small")
    assert tried(tiny, "comparison: a < 0") == ("failed", "test_tiny.py::test_below")
    assert tried(tiny, "constant: 4") == ("passed", None)
    assert tried(tiny, "statement dropped: a += 1", 1.5) == ("hung", "test_tiny.py::test_below")
    assert (tiny / "accnn_tiny.py").read_text() == TINY


def test_only_what_is_chosen_runs_and_has_its_own_limit(tiny: Path) -> None:
    small, below = "test_tiny.py::test_small", "test_tiny.py::test_below"

    assert tried(tiny, "comparison: a < 0", limits={small: 9.0}) == ("passed", None)
    assert tried(tiny, "min, max: min", limits={below: 9.0, small: 9.0}) == ("failed", below)
    assert tried(tiny, "statement dropped: a += 1", limits={below: 1.0}) == ("hung", below)


def test_what_is_not_planted_is_watched(tiny: Path) -> None:
    (tiny / "test_tiny.py").write_text(TESTS + WATCHED)
    outcome = judge(Trial(None, tiny, ("test_tiny.py",), False, 20))
    seen = {item.test.rpartition("::")[2]: item for item in outcome.seen}
    least, kept = ("accnn_tiny.py", "least"), ("accnn_tiny.py", "kept")

    assert seen.keys() == {"test_small", "test_below", "test_kept", "test_kept_again", "test_parts"}
    assert seen["test_small"].may_notice(least)
    assert not seen["test_small"].may_notice(kept)
    assert seen["test_kept_again"].may_notice(kept)  # although it was kept by then
    assert not seen["test_kept"].may_notice(least)
    assert seen["test_kept"].may_notice(None)
    assert seen["test_parts"].may_notice(least)  # who knows
    assert read(written(outcome.seen)) == tuple(
        replace(item, seconds=round(item.seconds, 3)) for item in outcome.seen
    )


def test_a_module_that_cannot_be_imported_is_noticed(tiny: Path) -> None:
    source = "1 / 0\n" + TINY
    (tiny / "accnn_tiny.py").write_text(source)

    outcome = judge(Trial(None, tiny, ("test_tiny.py",), False, 20))

    assert (outcome.end, outcome.failed) == ("failed", "test_tiny.py")


def test_a_summary_counts_rooms_and_rows_are_json() -> None:
    mutant = mutants_of("x.py", "a < b")[0]
    dead = Verdict(mutant, "here", "test_x", "failed", 1, 0.5)
    alive = Verdict(mutant, "there", None, "passed", 3, 1.0)

    assert summary([dead, alive, dead])[:2] == ["here: 2 of 2 killed", "there: 0 of 1 killed"]
    assert summary([dead, alive, dead])[-1] == "together: 2 of 3 killed"
    assert json.loads(json.dumps(alive.row()))["killed_by"] is None


def test_survivors_are_found_again(tmp_path: Path) -> None:
    file = "passes/scheduling/cosma/plan.py"
    first, second, *_ = mutants_of(file, (ROOT / file).read_text())
    rows = [
        Verdict(first, "here", None, "passed", 1, 0.5).row(),
        Verdict(second, "here", "test_x", "failed", 1, 0.5).row(),
    ]
    kept = tmp_path / "kept.jsonl"
    kept.write_text("\n".join(map(json.dumps, rows)))

    assert survivors(kept) == [first]


def test_all_mutants_of_a_line_are_found() -> None:
    file = "ir/tiles/sums.py"
    every = mutants_of(file, (ROOT / file).read_text())
    line = every[-1].line

    assert at_line(f"{file}:{line}") == [item for item in every if item.line == line]
    assert at_line(f"{file}:1") == []


def test_tests_that_call_the_function_are_asked_the_quickest_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[Trial] = []
    mutant = next(item for item in mutants_under(["ir/tiles/sums.py"]) if item.function is not None)
    calls = frozenset({(mutant.file, mutant.function or "")})

    def passes(trial: Trial) -> Outcome:
        asked.append(trial)
        (file, *_) = trial.files
        seen = (
            Seen(f"{file}::slow", 7.0, calls),
            Seen(f"{file}::elsewhere", 0.1, frozenset()),
            Seen(f"{file}::quick", 2.0, calls),
            Seen(f"{file}::parted", 0.5, None),
        )
        return Outcome(None, "passed", 0.1, seen if trial.mutant is None else ())

    monkeypatch.setattr(run, "judge", passes)
    mine = "tests/ir/tiles/test_sums.py"

    assert run.verdict(mutant, Questions(tmp_path, (mine,))).tests == 3
    watched, tried = asked
    assert (watched.mutant, watched.files) == (None, (mine,))
    assert (tried.mutant, tried.files) == (mutant, [mine])
    assert tried.limits == {
        f"{mine}::parted": 10 + 1.5 + 9.6,
        f"{mine}::quick": 10 + 6 + 9.6,
        f"{mine}::slow": 10 + 21 + 9.6,
    }
    assert run.verdict(mutant, Questions(tmp_path, (mine,), at_most=3.0)).tests == 2
    assert len(asked) == 3  # what was seen is kept
    other = "tests/ir/tiles/test_cells.py"
    assert run.verdict(mutant, Questions(tmp_path, (mine, other), at_most=10.0)).tests == 4
    names = ("parted", "quick")
    assert set(asked[-1].limits or ()) == {f"{file}::{x}" for file in (mine, other) for x in names}
    assert run.verdict(mutant, Questions(tmp_path)).tests > 3
