"""Tests of one mutant, in a process of its own that leaves the source as it is.

The libraries are imported once, before processes part; the package is imported in each.
"""

import gc
import math
import os
import resource
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Generator, Mapping, Sequence
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
from hypothesis import HealthCheck, Phase, settings

from tests.mutants.mutants import Mutant
from tests.mutants.watch import Seen, Watcher

_MEMORY = 3 << 30  # byte: a loop that a mutant never leaves must not take all of it
_WAITED = 20  # times the processor time that may pass, beside other jobs, until all is stuck
_LIBRARIES = ("accnn.compiler.cli.start", "accnn.passes.mip", "tests.end_to_end.faults.battery")


@dataclass(frozen=True, slots=True)
class Trial:
    """What is to be run.

    Attributes:
        mutant: What is planted; where nothing is, all tests run, and are watched.
        root: Folder with the sources.
        files: Files of tests.
        is_interpreted: Whether compiled loops run as Python.
        limit: Time of processors that it may take as far as no test has its own [s].
        limits: Time of processors that each test may take [s], in the order in which they run;
            without it all run that the files have.
    """

    mutant: Mutant | None
    root: Path
    files: Sequence[str]
    is_interpreted: bool
    limit: float
    limits: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it.

    Attributes:
        failed: The first test that failed, or had begun when the process ended or was ended.
        end: ``passed``, ``failed``, ``died`` or ``hung``.
        seconds: Time of processors that it took [s].
        seen: What tests were seen to do, as far as they passed.
    """

    failed: str | None
    end: str
    seconds: float
    seen: tuple[Seen, ...] = ()


def prepare() -> None:
    """Import what no mutant changes."""
    quick = (Phase.explicit, Phase.generate)
    settings.register_profile(
        "mutants",
        derandomize=True,
        database=None,
        phases=quick,
        deadline=None,  # a clock that other jobs disturb kills nothing
        suppress_health_check=list(HealthCheck),
    )
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
    told = _listen(receiver, trial)
    begun = [item for item in told if isinstance(item, str)]
    is_over = bool(begun) and begun[-1] in _ENDS
    process.join(0 if is_over else 0.5)
    is_late = process.is_alive() or process.exitcode in (-signal.SIGXCPU, -signal.SIGALRM)
    _end(process.pid or 0)
    process.join()
    end = begun.pop() if is_over else "hung" if is_late else "died"
    failed = None if end == "passed" else (begun[-1] if begun else "collection")
    seen = tuple(item for item in told if isinstance(item, Seen))
    return Outcome(failed, end, _used() - before, seen)


def _used() -> float:
    """Return the time of processors that ended processes have taken [s]."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


_ENDS = ("passed", "failed")


def _listen(receiver: Connection, trial: Trial) -> list[str | Seen]:
    """Return what a process tells until it says the last word, dies, or time is over."""
    told: list[str | Seen] = []
    limit = trial.limit
    while receiver.poll(_WAITED * limit):
        try:
            said: str | Seen = receiver.recv()
        except EOFError:
            break
        told.append(said)
        if said in _ENDS:
            break
        if isinstance(said, str) and trial.limits:
            limit = trial.limits.get(said, trial.limit)
    return told


def _end(pid: int) -> None:
    """End a process and all that it started."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _run(trial: Trial, sender: Connection) -> None:
    os.setsid()
    gc.freeze()  # to collect what waits for threads that only the parent has would never end
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _may_take(trial.limit)
    silence = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(silence, number)
    if trial.is_interpreted:
        import_module("numba").config.DISABLE_JIT = True
    _forget()
    plugins: list[object] = [_Teller(sender, trial.limits)]
    options = ["-q", "--assert=plain", "-p", "no:cacheprovider"]
    if trial.mutant is None:
        plugins.append(Watcher(sender, trial.root))
    else:
        sys.meta_path.insert(0, _Finder(trial.mutant, trial.root))
        options.append("-x")
    with tempfile.TemporaryDirectory() as folder:
        files = [str(trial.root / file) for file in trial.files]
        code = pytest.main([*options, "--basetemp", folder, *files], plugins=plugins)
    sender.send("passed" if code == 0 else "failed")
    os._exit(0)


def _may_take(seconds: float) -> None:
    """Let this process end when it has taken that much more time of processors."""
    taken = time.process_time()
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(taken + seconds), resource.RLIM_INFINITY))
    signal.alarm(math.ceil(2 * _WAITED * seconds))  # if nobody is left to end it


class _Teller:
    """Tells which test begins, and which files cannot be imported; chooses tests."""

    def __init__(self, sender: Connection, limits: Mapping[str, float] | None) -> None:
        self._sender, self._limits = sender, limits

    @pytest.hookimpl(wrapper=True)
    def pytest_collection_modifyitems(
        self, items: list[pytest.Item]
    ) -> Generator[None, None, None]:
        yield
        if self._limits is not None:
            order = {name: at for at, name in enumerate(self._limits)}
            chosen = [item for item in items if item.nodeid in order]
            items[:] = sorted(chosen, key=lambda item: order[item.nodeid])

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._sender.send(nodeid)
        if self._limits is not None:
            _may_take(self._limits[nodeid])

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
