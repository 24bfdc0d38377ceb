"""What each test calls, and how long it takes, while nothing is planted."""

import functools
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from types import CodeType, FrameType
from typing import Any
from weakref import WeakSet

import pytest

Function = tuple[str, str]
"""File, from the root, and qualified name of a function: lines would move."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of a test.

    Attributes:
        test: Its name, as pytest gives it.
        seconds: Time of processors that it takes, watched.
        calls: Functions that it calls; ``None`` where other processes call some, too.
    """

    test: str
    seconds: float
    calls: frozenset[Function] | None

    def may_notice(self, function: Function | None) -> bool:
        """Whether a change in a function, or of what is computed on import, can matter to it."""
        return function is None or self.calls is None or function in self.calls


def written(seen: Sequence[Seen]) -> str:
    """Return what is known of tests as text, each function once."""
    every = sorted({function for item in seen for function in item.calls or ()})
    numbers = {function: number for number, function in enumerate(every)}
    rows = [
        (
            item.test,
            round(item.seconds, 3),
            None if item.calls is None else sorted(numbers[call] for call in item.calls),
        )
        for item in seen
    ]
    return json.dumps({"functions": every, "tests": rows})


def read(text: str) -> tuple[Seen, ...]:
    """Return what ``written`` has written."""
    data = json.loads(text)
    every = [(file, name) for file, name in data["functions"]]
    return tuple(
        Seen(test, seconds, None if calls is None else frozenset(every[at] for at in calls))
        for test, seconds, calls in data["tests"]
    )


class Watcher:
    """A plug-in of pytest that tells of every test of a file what it is seen to do.

    What is called while modules are imported or fixtures are made counts for all tests, for they
    share it. Answers that the package keeps are forgotten before each test, so that whoever needs
    one is seen to compute it.
    """

    def __init__(self, sender: Connection, root: Path) -> None:
        """Begin to watch; to be made before the package is imported."""
        self._sender, self._root = sender, f"{root}{os.sep}"
        self._codes: set[CodeType] = set()
        self._shared: frozenset[Function] = frozenset()
        self._has_parted = False
        self._has_failed = False
        self._caches: WeakSet[Any] = WeakSet()
        _note_caches(self._caches)
        os.register_at_fork(before=self._part)
        threading.settrace(self._call)
        sys.settrace(self._call)

    def _call(self, frame: FrameType, event: str, arg: object) -> None:
        self._codes.add(frame.f_code)

    def _part(self) -> None:
        self._has_parted = True

    def _called(self) -> frozenset[Function]:
        """Return the functions called since this was asked."""
        codes, self._codes = self._codes, set()
        return frozenset(
            (code.co_filename.removeprefix(self._root), code.co_qualname)
            for code in codes
            if code.co_filename.startswith(self._root)
            and "site-packages" not in code.co_filename
            and code.co_name != "<module>"
        )

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, bool, bool]:
        for cache in list(self._caches):
            cache.cache_clear()
        self._has_parted = False
        self._shared |= self._called()
        begun = _used()
        self._has_failed = False
        told = yield
        seconds = _used() - begun
        calls = self._called() | self._shared
        if not self._has_failed:
            self._sender.send(Seen(item.nodeid, seconds, None if self._has_parted else calls))
        return told

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._has_failed |= not report.passed

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self) -> Generator[None, None, None]:
        yield
        self._shared |= self._called()


def _used() -> float:
    """Return the time of processors that this process and its ended children have taken [s]."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def _note_caches(caches: WeakSet[Any]) -> None:
    """Let a set hold every cache of answers that is made from now on."""
    make: Any = functools.lru_cache

    def noted(made: Callable[..., object]) -> Callable[..., object]:
        caches.add(made)
        return made

    def lru_cache(maxsize: Any = 128, typed: bool = False) -> Callable[..., object]:
        made = make(maxsize, typed)
        return noted(made) if callable(maxsize) else lambda function: noted(made(function))

    functools.lru_cache = lru_cache
    functools.cache = lru_cache(None)
