"""Bars of the whole run are the trace's."""

import io
import itertools
import json
import re
from collections import defaultdict

from accnn.compiler.report.html.charts.run_bars import FINEST, all_bars, queue_bars
from accnn.runtime_sim.trace import write_trace
from tests.compiler.report.html.conftest import Made
from tests.compiler.report.html.pages import bars_of, parse


def traced(made: Made) -> dict[str, list[tuple[int, int, str]]]:
    """Return (start, end, operator) of every slice of the trace, by queue."""
    assert made.simulation is not None
    file = io.StringIO()
    write_trace(made.simulation, file)
    events = json.loads(file.getvalue())["traceEvents"]
    names = {item["tid"]: item["args"]["name"] for item in events if item["name"] == "thread_name"}
    found: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
    for item in events:
        if item["ph"] == "X" and item["dur"]:
            span = (item["ts"], item["ts"] + item["dur"], item["name"])
            found[names[item["tid"]]].append(span)
    return found


def test_ungrouped_bars_are_the_slices_of_the_trace(flexer: Made):
    simulation = flexer.simulation
    assert simulation is not None and simulation.timelines is not None
    expected = traced(flexer)

    for queue, line in zip(simulation.program.queues, simulation.timelines, strict=True):
        bars = queue_bars(queue, line, 0)
        names = simulation.program.operators
        assert [(bar.first, bar.end, names[bar.operator]) for bar in bars] == expected.get(
            queue.name, []
        )
        assert all(bar.busy == bar.end - bar.first for bar in bars)


def test_grouping_keeps_ends_and_work(flexer: Made):
    simulation = flexer.simulation
    assert simulation is not None and simulation.timelines is not None

    for queue, line in zip(simulation.program.queues, simulation.timelines, strict=True):
        fine, coarse = (queue_bars(queue, line, gap) for gap in (0, simulation.cycles))
        assert sum(bar.busy for bar in fine) == sum(bar.busy for bar in coarse)
        assert len(coarse) <= len(fine)
        assert {bar.first for bar in coarse} <= {bar.first for bar in fine}
        assert {bar.end for bar in coarse} <= {bar.end for bar in fine}
        for one, other in itertools.pairwise(coarse):
            assert one.operator != other.operator


def test_the_page_shows_these_bars(flexer: Made):
    simulation = flexer.simulation
    assert simulation is not None
    chart = next(item for item in parse(flexer.page).all("figure") if item.attrs["id"] == "run")
    shown: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for path in chart.all("svg")[1].all("path"):
        queue = re.split(": ", path.children[0].text)[0]
        shown[queue] += bars_of(path)

    bars = {queue.name: items for queue, items in all_bars(simulation).items()}
    assert {name: sorted(items) for name, items in shown.items()} == {
        name: [(bar.first, bar.end) for bar in items] for name, items in bars.items()
    }


def test_gaps_that_a_screen_can_tell_stay(static: Made):
    simulation = static.simulation
    assert simulation is not None
    trace = traced(static)

    for queue, bars in all_bars(simulation).items():
        gap = max(1, simulation.cycles // FINEST)
        for bar in bars:
            inside = [s for s in trace[queue.name] if bar.first <= s[0] and s[1] <= bar.end]
            pauses = [b[0] - a[1] for a, b in itertools.pairwise(inside)]
            assert max(pauses, default=0) < gap


def test_operators_are_drawn_from_their_first_to_their_last_cycle(static: Made):
    assert static.simulation is not None
    chart = next(item for item in parse(static.page).all("figure") if item.attrs["id"] == "run")
    paths = chart.all("svg")[0].all("path")

    assert [bars_of(path) for path in paths] == [
        [(item.first_cycle, item.last_cycle)] for item in static.simulation.operators
    ]
