"""Runs a pipeline over a module, under instruments."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from ..ir.errors import InfeasibleError, InputError, PassError, VerifyError
from ..ir.module import Module
from .base import STAGES, Context, Counters, Pass, without
from .instrument import Instrument, PassRecord, PassStep, VerifyEach
from .pipeline import Pipeline, print_pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a pipeline made.

    Attributes:
        module: The module after the last pass.
        records: One per pass, in order.
    """

    module: Module
    records: tuple[PassRecord, ...]


def run_pipeline(
    pipeline: Pipeline,
    module: Module,
    ctx: Context | None = None,
    *,
    instruments: Sequence[Instrument] = (),
    verify_each: bool = True,
) -> Outcome:
    """Check a pipeline against the module's stages and run it.

    Args:
        pipeline: The passes.
        module: What the first pass gets; it is verified where ``verify_each`` is set.
        ctx: Seed and progress; each pass gets counters of its own.
        instruments: Observers, called in this order.
        verify_each: Whether to verify the module after every pass that changed it.

    Raises:
        PipelineError: A pass needs a stage that is not there; nothing has run.
        VerifyError: The module is not valid to begin with.
        InputError: A pass cannot use what the user gave; also ``InfeasibleError``.
        PassError: A pass crashed, broke its contract, or left an invalid module.
    """
    pipeline.check(module.stages)
    watchers = (*((VerifyEach(),) if verify_each else ()), *instruments)
    if verify_each:
        module.verify()
    records: list[PassRecord] = []
    total = len(pipeline.passes)
    for number, item in enumerate(pipeline.passes, start=1):
        own = (ctx or Context()).with_counters(Counters())
        step = PassStep(number=number, total=total, item=item, ctx=own)
        module, record = _run_step(step, module, watchers)
        records.append(record)
    return Outcome(module=module, records=tuple(records))


def _run_step(
    step: PassStep, before: Module, watchers: Sequence[Instrument]
) -> tuple[Module, PassRecord]:
    """Run one pass; whatever it raises is shown to the instruments first."""
    for watcher in watchers:
        watcher.started(step, before)
    try:
        start = time.perf_counter()
        after = step.ctx.run_pass(step.item, before, step.ctx)
        seconds = time.perf_counter() - start
        after = _settle(step.item, before, after)
        record = _record(step, seconds, after is not before)
        for watcher in watchers:
            watcher.finished(step, before, after, record)
    except (InputError, InfeasibleError):
        raise
    except Exception as error:
        raise _failure(step, before, error, watchers) from error
    return after, record


def _record(step: PassStep, seconds: float, changed: bool) -> PassRecord:
    return PassRecord(
        name=step.item.name,
        text=print_pass(step.item),
        seconds=seconds,
        counters=step.ctx.counters.values,
        changed=changed,
    )


def _settle(item: Pass, before: Module, after: Module) -> Module:
    """Drop stages that are derived from replaced ones, and hold the pass to its declaration.

    Raises:
        VerifyError: The pass changed a stage that it does not give, or did not give one.
    """
    if after is before:
        return after
    after = without(after, item.drops())
    for stage in STAGES:
        kept = getattr(after, stage.value) is getattr(before, stage.value)
        if not kept and stage not in item.gives | item.drops():
            raise VerifyError(f"it changed {stage}, which it does not declare to give")
        if stage in item.gives and getattr(after, stage.value) is None:
            raise VerifyError(f"it declares to give {stage}, and did not")
    return after


def _failure(
    step: PassStep, before: Module, error: Exception, watchers: Sequence[Instrument]
) -> PassError:
    notes = [note for watcher in watchers if (note := watcher.failed(step, before, error))]
    return PassError(
        f"pass {step.number}, {step.item.name}: {_sentence(error)}", hint="; ".join(notes) or None
    )


def _sentence(error: Exception) -> str:
    """An error of ours speaks for itself; one of Python's needs its type."""
    if isinstance(error, VerifyError | PassError):
        return str(error)
    return f"{type(error).__name__}: {error}"
