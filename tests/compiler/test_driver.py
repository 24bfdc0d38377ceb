"""What one compilation holds, and for how long."""

import gc
import weakref
from dataclasses import dataclass
from typing import ClassVar

import pytest

import accnn
from accnn.compiler import driver
from accnn.compiler.options import CompileOptions
from accnn.compiler.pipelines import default_pipeline
from accnn.ir.module import Module
from accnn.passes.base import Context, Pass
from accnn.passes.pipeline import Pipeline
from accnn.passes.scheduling.fusion import Fuse
from tests.compiler.cli.nets import tiny


class Remembered:
    """What a pass notes for those behind it."""


seen: list[weakref.ref[Remembered]] = []


@dataclass(frozen=True)
class Remember(Pass):
    """Note something, and change nothing."""

    name: ClassVar[str] = "remember"

    def run(self, module: Module, ctx: Context) -> Module:
        seen.append(weakref.ref(ctx.notes.of(Remembered)))
        return module


def test_what_passes_remember_is_gone_when_the_program_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = CompileOptions(mapper="output-stationary", fuse=Fuse.OFF)
    first, *others = default_pipeline(plain).passes
    held: list[bool] = []

    def lower(module: Module) -> object:
        gc.collect()
        held.extend(item() is not None for item in seen)
        return lowered(module)

    lowered = driver.lower
    monkeypatch.setattr(driver, "lower", lower)

    pipeline = Pipeline((first, Remember(), *others))
    options = CompileOptions(cache=None, processes=1)
    accnn.compile(tiny(), arch="simba", options=options, pipeline=pipeline)

    assert held == [False]
