"""Tests of one mutant, in a process of its own that leaves the source as it is.

The libraries are imported once, before processes part; the package is imported in each.
"""

import math
import os
import resource
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from types import CodeType, ModuleType

import pytest
from hypothesis import Phase, settings

from tests.mutants.mutants import Mutant

_MEMORY = 3 << 30  # byte: a loop that a mutant never leaves must not take all of it
_LIBRARIES = ("accnn.compiler.cli.start", "accnn.passes.mip", "tests.end_to_end.faults.battery")


@dataclass(frozen=True, slots=True)
class Trial:
    """What is to be run.

    Attributes:
        mutant: What is planted; ``None`` is the source as it is.
        root: Folder with the sources.
        tests: Files, in the order in which they run.
        is_interpreted: Whether compiled loops run as Python.
        limit: Time of processors that it may take, a quarter of what may pass [s].
    """

    mutant: Mutant | None
    root: Path
    tests: Sequence[str]
    is_interpreted: bool
    limit: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it.

    Attributes:
        failed: The first test that failed, or had begun when the process ended or was ended.
        end: ``passed``, ``failed``, ``died`` or ``hung``.
        seconds: Time of processors that it took [s].
    """

    failed: str | None
    end: str
    seconds: float


def prepare() -> None:
    """Import what no mutant changes."""
    quick = (Phase.explicit, Phase.generate)
    settings.register_profile("mutants", derandomize=True, database=None, phases=quick)
    settings.load_profile("mutants")
    for name in _LIBRARIES:
        import_module(name)
    _forget()


def _forget() -> None:
    """Let the package and its tests be imported anew; the root of the package stays."""
    for name in list(sys.modules):
        if name.startswith(("accnn.", "tests.")) and not name.startswith("tests.mutants."):
            del sys.modules[name]


def judge(trial: Trial) -> Outcome:
    """Run a trial and end it when its time is over."""
    context = get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    before = _used()
    process = context.Process(target=_run, args=(trial, sender))
    process.start()
    sender.close()
    told = _listen(receiver, time.monotonic() + 4 * trial.limit)
    is_over = bool(told) and told[-1] in ("passed", "failed")
    process.join(0 if is_over else 0.5)
    is_late = process.is_alive() or process.exitcode == -signal.SIGXCPU
    _end(process.pid or 0)
    process.join()
    end = told[-1] if is_over else "hung" if is_late else "died"
    tests = [item for item in told if item not in ("passed", "failed")]
    failed = None if end == "passed" else (tests[-1] if tests else "collection")
    return Outcome(failed, end, _used() - before)


def _used() -> float:
    """Return the time of processors that ended processes have taken [s]."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _listen(receiver: Connection, deadline: float) -> list[str]:
    """Return what a process tells until it says the last word, dies, or time is over."""
    told: list[str] = []
    while receiver.poll(max(0.0, deadline - time.monotonic())):
        try:
            told.append(receiver.recv())
        except EOFError:
            break
        if told[-1] in ("passed", "failed"):
            break
    return told


def _end(pid: int) -> None:
    """End a process and all that it started."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _run(trial: Trial, sender: Connection) -> None:
    os.setsid()
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(trial.limit), resource.RLIM_INFINITY))
    signal.alarm(math.ceil(5 * trial.limit))  # if nobody is left to end it
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    silence = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(silence, number)
    if trial.is_interpreted:
        import_module("numba").config.DISABLE_JIT = True
    _forget()
    if trial.mutant is not None:
        sys.meta_path.insert(0, _Finder(trial.mutant, trial.root))
    with tempfile.TemporaryDirectory() as folder:
        options = ("-x", "-q", "--assert=plain", "-p", "no:cacheprovider", "--basetemp", folder)
        tests = [str(trial.root / test) for test in trial.tests]
        code = pytest.main([*options, *tests], plugins=[_Teller(sender)])
    sender.send("passed" if code == 0 else "failed")
    os._exit(0)


class _Teller:
    """Tells which test begins, and which files cannot be imported."""

    def __init__(self, sender: Connection) -> None:
        self._sender = sender

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._sender.send(nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._sender.send(report.nodeid)


class _Loader(SourceFileLoader):
    """Compiles a source that is not the one in the file."""

    def __init__(self, mutant: Mutant, path: str) -> None:
        super().__init__(mutant.module, path)
        self._mutant = mutant

    def get_code(self, fullname: str) -> CodeType:
        source = self._mutant.planted(Path(self.path).read_text())
        with warnings.catch_warnings(action="ignore"):
            return compile(source, self.path, "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    """Finds one module before anyone else does."""

    def __init__(self, mutant: Mutant, root: Path) -> None:
        self._mutant, self._root = mutant, root

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._mutant.module:
            return None
        file = self._root / self._mutant.file
        return spec_from_file_location(fullname, file, loader=_Loader(self._mutant, str(file)))
