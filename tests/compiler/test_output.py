"""Folders of results: killed runs, runs at the same time, disks that refuse."""

import errno
import json
import os
import platform
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from accnn.compiler.output import write_folder
from accnn.ir.errors import OptionError


def left_by(process: int, folder: Path) -> Path:
    """Make what a process leaves that was killed while it wrote."""
    path = folder.with_name(f".{folder.name}.{platform.node()}.{process}.abc")
    path.mkdir()
    (path / "program.acc").write_bytes(b"half")
    return path


def test_what_a_process_left_that_has_ended_is_deleted(tmp_path: Path):
    target = tmp_path / "net.acc"
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    gone = left_by(ended.pid, target)

    write_folder(target, {"report.json": lambda path: path.write_text("{}") and None})

    assert not gone.exists()
    assert {path.name for path in tmp_path.iterdir()} == {"net.acc"}


def test_what_others_write_or_own_remains(tmp_path: Path):
    target = tmp_path / "net.acc"
    kept = [left_by(os.getppid(), target), left_by(0, tmp_path / "other.acc")]
    foreign = tmp_path / f".net.acc.{platform.node()}.notes"
    foreign.mkdir()

    write_folder(target, {"report.json": lambda path: path.write_text("{}") and None})

    assert all(path.exists() for path in (*kept, foreign))


def test_runs_that_write_one_folder_at_once_leave_the_results_of_one_of_them(tmp_path: Path):
    """None fails, none mixes with another, and nothing is left beside the folder."""
    folder, names = tmp_path / "net.acc", ("module.ir", "report.json")

    def write(run: int) -> None:
        content = json.dumps({"schema_version": 2, "model": run})
        for _ in range(40):
            write_folder(folder, dict.fromkeys(names, lambda path: path.write_text(content)))

    with ThreadPoolExecutor(4) as runs:
        for done in [runs.submit(write, run) for run in range(4)]:
            done.result()

    assert [path.name for path in tmp_path.iterdir()] == ["net.acc"]
    assert sorted(path.name for path in folder.iterdir()) == sorted(names)
    assert len({(folder / name).read_text() for name in names}) == 1


def test_where_results_cannot_take_their_place_the_old_ones_remain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = tmp_path / "net.acc"
    text = '{"schema_version": 2, "model": 0}'
    write_folder(folder, {"report.json": lambda path: path.write_text(text)})
    rename = Path.rename

    def refuse(source: Path, target: Path) -> Path:
        if target == folder and (source / "module.ir").exists():
            raise OSError(errno.EIO, "broken disk")
        return rename(source, target)

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(OptionError, match="broken disk"):
        write_folder(folder, {"module.ir": lambda path: path.write_text("new")})
    monkeypatch.undo()

    assert (folder / "report.json").read_text() == text
    assert [path.name for path in tmp_path.iterdir()] == ["net.acc"]
