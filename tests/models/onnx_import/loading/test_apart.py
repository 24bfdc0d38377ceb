"""A crash of a library ends a copy of the process, which tells the signal."""

import os
import signal
import time

import pytest

from accnn.models.onnx_import.loading.apart import crash_of


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT"])
def test_a_crash_is_named(name: str):
    assert crash_of(lambda: os.kill(os.getpid(), getattr(signal, name))) == name


def test_what_ends_well_or_raises_is_no_crash(capfd: pytest.CaptureFixture[str]):
    assert crash_of(lambda: None) is None
    assert crash_of(lambda: [][0]) is None
    assert capfd.readouterr() == ("", "")


def test_what_stands_still_is_given_up():
    begun = time.monotonic()

    assert crash_of(lambda: time.sleep(60), patience=1) is None
    assert time.monotonic() - begun < 30
