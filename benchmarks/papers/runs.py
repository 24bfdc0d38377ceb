"""Commands of benchmarks, each run once and its output kept by content."""

import hashlib
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from accnn.compiler.stores.store import code_version

from .claim import Command

ROOT = Path(__file__).parents[2]
DECIDING = ("backend", "compiler", "ir", "models", "passes", "runtime_sim")
"""Rooms whose code decides on figures."""


@dataclass(frozen=True, slots=True)
class Runs:
    """What commands printed, in files of one folder.

    A file is named by the command and the code of the benchmark and of all rooms, so what is there
    is up to date, and an interrupted run goes on with the commands that have none.

    Attributes:
        folder: Where the files are.
        quick: Whether commands get their quick arguments.
    """

    folder: Path
    quick: bool = False

    def path(self, command: Command) -> Path:
        """Return the file of a command's output."""
        source = ROOT / f"{command.module.replace('.', '/')}.py"
        parts = (command.line(quick=self.quick), source.read_text(), code_version(DECIDING, ()))
        key = hashlib.sha256("\n".join(parts).encode()).hexdigest()
        return self.folder / f"{command.module.rpartition('.')[2]}-{key[:16]}.txt"

    def known(self, command: Command) -> str | None:
        """Return what the command printed before."""
        path = self.path(command)
        return path.read_text(encoding="utf-8") if path.exists() else None

    def run(self, command: Command) -> str:
        """Return what the command prints, and keep it.

        Raises:
            subprocess.CalledProcessError: It failed without printing a table.
        """
        known, path = self.known(command), self.path(command)  # by the code that now runs
        if known is not None:
            return known
        words = shlex.split(command.quick if self.quick else command.whole)
        line = [sys.executable, "-m", command.module, *words]
        found = subprocess.run(line, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
        if found.returncode and "|" not in found.stdout:
            raise subprocess.CalledProcessError(found.returncode, line)
        self.folder.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".part")
        partial.write_text(found.stdout, encoding="utf-8")
        partial.replace(path)
        return found.stdout
