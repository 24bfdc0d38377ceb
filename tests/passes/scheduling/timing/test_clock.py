"""The clock against one that looks at every cycle, in exact numbers."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.passes.scheduling.timing.clock import fair_speeds
from tests.passes.scheduling.timing.queues import Share, Span, Task, run_queues, shares_of
from tests.thinned import examples

PORTS = 3


def every_cycle(queues: Sequence[Sequence[Task]], pipelined: Sequence[bool]) -> list[list[Span]]:
    """Return when tasks run, by asking every task in every cycle what it may do."""
    times: list[list[dict[str, int]]] = [[{} for _ in tasks] for tasks in queues]
    moved: dict[tuple[int, int], Fraction] = {}
    now = 0
    while any("end" not in item or item["end"] > now for line in times for item in line):
        while _one_change(queues, pipelined, times, moved, now):
            pass
        active = [
            (q, n)
            for q, line in enumerate(times)
            for n, item in enumerate(line)
            if "begin" in item and "done" not in item
        ]
        speeds = exact_speeds([queues[q][n].shares for q, n in active])
        for key, speed in zip(active, speeds, strict=True):
            moved[key] += speed
        now += 1
        assert now < 5000
    return [
        [Span(item["start"], item["begin"], item["done"], item["end"]) for item in line]
        for line in times
    ]


def _one_change(queues, pipelined, times, moved, now) -> bool:
    for q, tasks in enumerate(queues):
        for n, task in enumerate(tasks):
            item = times[q][n]
            before = times[q][n - 1] if n else {"begin": 0, "done": 0, "end": 0}
            if "start" not in item:
                turn = "begin" in before if pipelined[q] else before.get("end", now + 1) <= now
                met = all(
                    all(other.get("end", now + 1) <= now for other in times[queue][:count])
                    for queue, count in task.waits
                )
                if turn and met:
                    item["start"] = now
                    return True
            elif "begin" not in item:
                if "done" in before and item["start"] + task.ahead <= now:
                    item["begin"] = now
                    moved[q, n] = Fraction(0)
                    return True
            elif "done" not in item and moved[q, n] >= task.length:
                item["done"] = now
                item["end"] = max(now + task.after, before["end"])
                return True
    return False


def speeds_of(active: Sequence[tuple[Share, ...]]) -> list[float]:
    """Return the speeds that the clock shares out."""
    speeds = np.ones(len(active))
    fair_speeds(shares_of(active), np.arange(len(active)), speeds, PORTS)
    return speeds.tolist()


def exact_speeds(active: Sequence[tuple[Share, ...]]) -> list[Fraction]:
    """Raise all speeds together until some port is full, again and again."""
    speeds = [Fraction(0)] * len(active)
    held: set[int] = set()
    while len(held) < len(active):
        steps = [1 - speeds[n] for n in range(len(active)) if n not in held]
        for port in range(PORTS):
            asked = _asked(active, port, [Fraction(n not in held) for n in range(len(active))])
            if asked:
                steps.append((1 - _asked(active, port, speeds)) / asked)
        step = min(steps)
        speeds = [speed + step * (n not in held) for n, speed in enumerate(speeds)]
        for n, shares in enumerate(active):
            full = any(_asked(active, port, speeds) == 1 for port, _ in shares)
            if full or speeds[n] == 1:
                held.add(n)
    return speeds


def _asked(active: Sequence[tuple[Share, ...]], port: int, speeds: Sequence[Fraction]) -> Fraction:
    return sum(
        (
            Fraction(share.part) * speed
            for shares, speed in zip(active, speeds, strict=True)
            for share in shares
            if share.port == port
        ),
        Fraction(0),
    )


PARTS = st.sampled_from([1.0, 0.5, 0.25, 0.75, 0.625, 0.125])


@st.composite
def runs(draw: st.DrawFn) -> tuple[list[list[Task]], list[bool]]:
    """Queues whose tasks wait for tasks of earlier turns only, so that none waits for ever."""
    count = draw(st.integers(1, 4))
    queues: list[list[Task]] = [[] for _ in range(count)]
    for _ in range(draw(st.integers(1, 10))):
        queue = draw(st.integers(0, count - 1))
        waits = [
            (other, draw(st.integers(1, len(queues[other]))))
            for other in range(count)
            if other != queue and queues[other] and draw(st.booleans())
        ]
        ports = draw(st.sets(st.integers(0, PORTS - 1)))
        queues[queue].append(
            Task(
                waits=tuple(waits),
                ahead=draw(st.integers(0, 6)),
                length=draw(st.integers(0, 12)),
                after=draw(st.integers(0, 6)),
                shares=tuple(Share(port, draw(PARTS)) for port in sorted(ports)),
            )
        )
    return queues, [draw(st.booleans()) for _ in range(count)]


@settings(max_examples=examples(150), deadline=None)
@given(runs())
def test_it_tells_the_times_that_looking_at_every_cycle_tells(
    run: tuple[list[list[Task]], list[bool]],
):
    queues, pipelined = run

    assert run_queues(queues, pipelined, PORTS) == every_cycle(queues, pipelined)


def test_two_tasks_of_one_port_take_twice_as_long():
    task = Task(ahead=3, length=10, shares=(Share(0, 1.0),))

    spans = run_queues([[task], [task]], [False, False], 1)

    assert spans == [[Span(0, 3, 23, 23)]] * 2


def test_a_port_that_has_enough_slows_nobody():
    task = Task(length=10, shares=(Share(0, 1 / 3),))

    spans = run_queues([[task]] * 3, [False] * 3, 1)

    assert spans == [[Span(0, 0, 10, 10)]] * 3


def test_only_a_pipelined_queue_fills_while_it_computes():
    tasks = [Task(ahead=4, length=10, after=2)] * 2

    (plain,) = run_queues([tasks], [False], 0)
    (hidden,) = run_queues([tasks], [True], 0)

    assert plain[1] == Span(16, 20, 30, 32)
    assert hidden[1] == Span(4, 14, 24, 26)


def test_what_one_cannot_use_goes_to_the_others():
    speeds = speeds_of([(Share(0, 1.0), Share(1, 1.0)), (Share(0, 1.0),), (Share(1, 0.25),)])

    assert speeds == pytest.approx([0.5, 0.5, 1.0])


def test_queues_that_wait_for_each_other_are_refused():
    with pytest.raises(ValueError, match="wait for each other"):
        run_queues([[Task(waits=((1, 1),))], [Task(waits=((0, 1),))]], [False, False], 0)
