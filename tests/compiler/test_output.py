"""Folders of results: what killed runs leave beside them goes with the next run."""

import os
import platform
import subprocess
import sys
from pathlib import Path

from accnn.compiler.output import write_folder


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
