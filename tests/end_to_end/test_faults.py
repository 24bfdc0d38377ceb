"""Seeded faults: each is one line of the source made wrong, and its judge must object.

``docs/trust.md`` lists them. They are planted one at a time, each in a process of its own.
"""

import ast
import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import chain

import pytest

from tests.end_to_end.faults.catalogue import FAULTS
from tests.end_to_end.faults.fault import ROOT, Exam, Fault, Judge
from tests.end_to_end.faults.run import BROKEN, RIGHT, SAME
from tests.end_to_end.faults.table import rows

FEW = 1
"""Exams of every judge, each with one fault, where there is no time for all."""

SAMPLE = 2
"""Of these, one in so many is also planted without its fault."""

LONG = {
    Exam.EVENTS,
    Exam.ACCOUNTS,
    Exam.NESTS,
    Exam.ARRAY,
    Exam.WHOLE_NESTS,
    Exam.HAZARDS,
    Exam.CLOCK,
    Exam.FUSED,
    Exam.LINKS,
    Exam.SECTIONS,
}
"""Exams that take more than three seconds: all but slow tests leave them out."""

Said = Mapping[str, object]
"""What one exam said: the exam, its objection or the crash, and the time it took [s]."""


def examine(wanted: Iterable[str]) -> list[Said]:
    """Plant what is wanted and return what the exams say."""
    found = subprocess.run(
        [sys.executable, "-m", "tests.end_to_end.faults.run", *wanted],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in found.stdout.splitlines()]


def survivors(said: Iterable[Said]) -> list[str]:
    """Return the faults that their exam does not object to, and why."""
    return [
        f"{FAULTS[int(str(item['asked']))].name} ({item['exam']}): {item.get('crash')}"
        for item in said
        if not item.get("objection")
    ]


def objections(said: Iterable[Said]) -> list[Said]:
    """Return what is said of what is right, if it is not silence."""
    return [item for item in said if "crash" in item or item["objection"]]


def some() -> list[int]:
    """Return a fault of some exams of every judge, the same ones in every run."""
    numbers = list(range(len(FAULTS)))
    random.Random(0).shuffle(numbers)
    one_each = {FAULTS[number].exam: number for number in numbers}
    one_each = {exam: number for exam, number in one_each.items() if exam not in LONG}
    found = (
        [number for exam, number in one_each.items() if exam.judge is judge][:FEW]
        for judge in Judge
    )
    return sorted(chain.from_iterable(found))


@cache
def quickly() -> list[Said]:
    """Return what is said of the right package, of some faults, of planting nothing and of a crash.

    All under the exams of these faults.
    """
    numbers = some()
    same = [f"{SAME}{number}" for number in numbers[::SAMPLE]]
    return examine([RIGHT, *map(str, numbers), *same, f"{BROKEN}{numbers[-1]}"])


def test_nobody_objects_to_what_is_right() -> None:
    said = [item for item in quickly() if item["asked"] == RIGHT]

    assert {item["exam"] for item in said} == {FAULTS[number].exam for number in some()}
    assert objections(said) == []


def test_some_faults_are_found_by_every_judge() -> None:
    said = [item for item in quickly() if str(item["asked"]).isdigit()]

    assert Counter(Exam(item["exam"]).judge for item in said) == dict.fromkeys(Judge, FEW)
    assert survivors(said) == []


def test_planting_what_is_right_changes_nothing() -> None:
    """Importing some modules anew, and not others, is itself no fault."""
    said = [item for item in quickly() if str(item["asked"]).startswith(SAME)]

    assert len(said) == len(Judge) * FEW // SAMPLE
    assert objections(said) == []


@pytest.mark.slow
def test_nobody_objects_to_anything_that_is_right() -> None:
    said = examine([RIGHT])

    assert [item["exam"] for item in said] == list(Exam)
    assert objections(said) == []


@pytest.mark.slow
def test_all_faults_are_found() -> None:
    said = examine(map(str, range(len(FAULTS))))

    assert len(said) == len(FAULTS)
    assert survivors(said) == []


@pytest.mark.slow
def test_planting_what_is_right_changes_nothing_anywhere() -> None:
    firsts = {(fault.file, fault.exam): number for number, fault in enumerate(FAULTS)}
    said = examine(f"{SAME}{number}" for number in firsts.values())

    assert len(said) == len(firsts)
    assert objections(said) == []


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name.replace(" ", "-"))
def test_a_fault_is_one_line_of_the_source(fault: Fault) -> None:
    assert fault.source().count(fault.old) == 1
    assert "\n" not in fault.old + fault.new
    assert ast.dump(ast.parse(fault.planted())) != ast.dump(ast.parse(fault.source()))


def test_faults_are_many_and_everywhere() -> None:
    assert len(FAULTS) >= 45
    assert len({(fault.file, fault.old, fault.new) for fault in FAULTS}) == len(FAULTS)
    assert {fault.exam for fault in FAULTS} == set(Exam)
    assert {fault.exam.judge for fault in FAULTS} == set(Judge)
    rooms = {fault.file.split("/")[0] for fault in FAULTS}
    assert rooms == {"passes", "backend", "ir", "runtime_sim", "models", "compiler"}


def test_a_fault_that_breaks_the_import_is_no_objection() -> None:
    """A crash tells nothing about a judge."""
    (item,) = (item for item in quickly() if str(item["asked"]).startswith(BROKEN))

    assert "SyntaxError" in str(item["crash"])
    assert "objection" not in item


def test_the_documents_list_all_faults() -> None:
    text = (ROOT / "docs" / "trust.md").read_text().partition("\n## The faults\n")[2]

    assert [row for row in rows(FAULTS) if row not in text] == []
    assert text.count("\n| `") == len(FAULTS)
