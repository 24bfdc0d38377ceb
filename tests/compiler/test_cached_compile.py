"""What is remembered, or found by several processes, makes the same program."""

import dataclasses
from pathlib import Path

import onnx
import pytest

import accnn
from accnn.compiler.driver import Result
from accnn.ir.report import Report
from accnn.passes.mapping.jobs import MapJob
from tests.onnx_rows import convolutions_in_a_row


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("network") / "row.onnx"
    layers = ((8, 16, 3, 2), (16, 12, 1, 1))
    onnx.save(convolutions_in_a_row(*layers, size=8), path)
    return path


def run(network: Path, cache: Path | None, processes: int) -> Result:
    options = accnn.CompileOptions(
        cache=cache,
        processes=processes,
        samples=1,
        verify=accnn.VerifyMode.OFF,
    )
    return accnn.compile(network, arch="simba", options=options)


@pytest.fixture(scope="module")
def anew(network: Path) -> Result:
    """What is found where nothing is remembered, by one process."""
    return run(network, None, 1)


def timeless(report: Report) -> Report:
    return dataclasses.replace(
        report,
        passes=(),
        operators=tuple(dataclasses.replace(item, solve_seconds=None) for item in report.operators),
        graph_schedule=None,
    )


def test_only_seconds_tell_a_cached_compilation(network: Path, anew: Result, tmp_path: Path):
    first = run(network, tmp_path / "cache", 2)
    again = run(network, tmp_path / "cache", 1)

    assert first.module == again.module == anew.module
    assert timeless(first.report) == timeless(again.report) == timeless(anew.report)
    assert sum(item.solve_seconds or 0.0 for item in first.report.operators) > 0
    assert sum(item.solve_seconds or 0.0 for item in again.report.operators) == 0


def test_no_mapper_is_asked_the_same_twice(network: Path, monkeypatch: pytest.MonkeyPatch):
    """What planning has asked is known when operators are mapped."""
    asked: list[MapJob] = []
    answer = MapJob.answer
    monkeypatch.setattr(MapJob, "answer", lambda job: asked.append(job) or answer(job))

    run(network, None, 1)

    assert len({job.mapper for job in asked}) > 2
    assert len(asked) == len(set(asked))


def test_a_compilation_whose_time_is_up_says_so_and_leaves_nothing_behind(
    network: Path, anew: Result, tmp_path: Path
):
    """It ends with a program that is right; the next one, with time, is as if it had not been."""
    cache = tmp_path / "cache"
    hurried = accnn.compile(
        network,
        arch="simba",
        options=accnn.CompileOptions(cache=cache, processes=1, samples=1, max_seconds=0.0),
    )
    full = run(network, cache, 1)

    assert hurried.report.verification.status == "verified"
    (note,) = (note for note in hurried.report.notes if "--max-seconds" in note)
    assert "schedule-cosma" in note and "map-operators" in note
    assert {item.mapper for item in hurried.report.operators} >= {"output-stationary"}
    assert all(item.note is not None for item in hurried.report.operators if item.mapper)
    assert not any("time was up" in note for note in full.report.notes)
    assert full.module == anew.module
