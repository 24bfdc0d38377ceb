"""A crash of a library ends a copy of the process, which tells the signal."""

import gc
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from accnn.ir.errors import ModelError, OptionError
from accnn.models.apart import crash_of, result_of
from accnn.passes.mip import MipLimits, MipModel, Solver


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT"])
def test_a_crash_is_named(name: str):
    assert crash_of(lambda: os.kill(os.getpid(), getattr(signal, name))) == name


def test_a_crash_is_named_where_cbc_was_used_before():
    def crash_after_cbc() -> None:
        model = MipModel("one", Solver.CBC)
        model.minimize(model.binary())
        model.solve(MipLimits())
        ended = crash_of(lambda: os.kill(os.getpid(), signal.SIGSEGV))
        os.kill(os.getpid(), signal.SIGTERM if ended == "SIGSEGV" else signal.SIGKILL)

    assert crash_of(crash_after_cbc) == "SIGTERM"


def test_what_ends_well_or_raises_is_no_crash(capfd: pytest.CaptureFixture[str]):
    assert crash_of(lambda: None) is None
    assert crash_of(lambda: [][0]) is None
    assert capfd.readouterr() == ("", "")


def test_what_stands_still_is_given_up():
    begun = time.monotonic()

    assert crash_of(lambda: time.sleep(60), patience=1) is None
    assert time.monotonic() - begun < 30


def test_what_was_garbage_before_is_not_collected_in_a_copy():
    here = os.getpid()

    class Session:
        """Like one of onnxruntime: in a copy, its end waits for threads that are not there."""

        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            if os.getpid() != here:
                os.kill(os.getpid(), signal.SIGKILL)

    gc.disable()
    try:
        Session()
        assert crash_of(gc.collect) is None
    finally:
        gc.enable()


def test_a_result_comes_back_whole():
    large = np.arange(1 << 20, dtype=np.float64)

    found = result_of(lambda: (os.getpid(), {"y": large}), "count")
    assert found[0] != os.getpid()
    assert np.array_equal(found[1]["y"], large)


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGKILL"])
def test_a_crash_on_the_way_to_a_result_is_a_message(name: str):
    with pytest.raises(ModelError, match=f"onnxruntime ends with {name} when it is to count"):
        result_of(lambda: os.kill(os.getpid(), getattr(signal, name)), "count")


def test_what_is_raised_on_the_way_is_raised_here():
    def refuse() -> int:
        raise OptionError("no", hint="never")

    with pytest.raises(OptionError, match="no") as caught:
        result_of(refuse, "count")
    assert caught.value.hint == "never"


def test_a_copy_that_stands_still_is_no_end():
    here = os.getpid()

    def stuck() -> str:
        if os.getpid() != here:
            time.sleep(600)
        return "done"

    assert result_of(stuck, "wait", standstill=0.2) == "done"


def test_a_copy_that_computes_is_waited_for():
    def busy() -> int:
        end = time.process_time() + 1.0
        while time.process_time() < end:
            pass
        return os.getpid()

    assert result_of(busy, "compute", standstill=0.3) != os.getpid()


def test_an_interrupt_ends_the_copy():
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(KeyboardInterrupt):
            result_of(lambda: time.sleep(600), "wait")
    finally:
        signal.signal(signal.SIGALRM, before)
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_a_copy_ends_with_the_process_that_made_it(tmp_path: Path):
    told = tmp_path / "copy"

    def tell() -> None:
        (tmp_path / "half").write_text(str(os.getpid()))
        (tmp_path / "half").rename(told)
        time.sleep(600)

    parent = os.fork()
    if not parent:
        try:
            result_of(tell, "wait")
        finally:
            os._exit(0)
    _until(told.exists)
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    _until(lambda: not Path(f"/proc/{told.read_text()}").exists())


def _until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)
