"""Judge many cases on several processes; one that dies takes no other case with it."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context

from ...models.onnx_cases import NodeCase
from .judge import CaseOutcome, Machines, Status, judge, outcome

Progress = Callable[[int, int], None]
"""Called as ``progress(done, total)``."""


def run_cases(
    cases: Sequence[NodeCase], machines: Machines, processes: int, progress: Progress
) -> tuple[CaseOutcome, ...]:
    """Return the verdict on every case, in the cases' order.

    Args:
        cases: What to judge.
        machines: For what to compile.
        processes: How many processes work side by side; 1 works in this one.
        progress: Called after every case.
    """
    found: dict[str, CaseOutcome] = {}
    for done, item in enumerate(_judged(cases, machines, processes), start=1):
        found[item.case] = item
        progress(done, len(cases))
    return tuple(found[case.name] for case in cases)


def _judged(cases: Sequence[NodeCase], machines: Machines, processes: int) -> Iterator[CaseOutcome]:
    if processes == 1:
        yield from (judge(case, machines) for case in cases)
        return
    lost: list[NodeCase] = []
    with _pool(processes) as pool:
        futures = {pool.submit(judge, case, machines): case for case in cases}
        for future in as_completed(futures):
            if _died(future):
                lost.append(futures[future])
            else:
                yield future.result()
    for case in lost:
        yield _judged_alone(case, machines)


def _judged_alone(case: NodeCase, machines: Machines) -> CaseOutcome:
    """Judge a case that may have ended its process, in a process of its own."""
    with _pool(1) as pool:
        future = pool.submit(judge, case, machines)
        if _died(future):
            return outcome(case, Status.FAILED, "the process died")
        return future.result()


def _pool(processes: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(processes, mp_context=get_context("spawn"))


def _died(future: Future[CaseOutcome]) -> bool:
    return isinstance(future.exception(), BrokenProcessPool)
