"""Pages of large networks stay small: bars are grouped, pictures are chosen."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from accnn.compiler.report.html import tile_rows
from accnn.compiler.report.html.charts.run_bars import MOST_BARS, all_bars, queue_bars
from accnn.compiler.report.html.view import view_of
from accnn.ir.isa.instructions import Access, Copy, Halt, Space, Unit
from accnn.ir.isa.program import Program, Queue
from accnn.runtime_sim.result import QueueTimeline, SimulationResult
from tests.compiler.report.html.conftest import Made
from tests.compiler.report.html.pages import parse
from tests.tiles import tiles_of

DMA, NPUS, LONG = 2, 4, 10_000


def crowded(made: Made, operators: int) -> SimulationResult:
    """Return a run of 60 000 instructions whose queues turn to another operator all the time."""
    assert made.simulation is not None
    place = Access(Space.GB, 0, 0, (1,))
    work = [
        Copy(dst=place, src=place, shape=(1,), element_bytes=1, op=number % operators)
        for number in range(LONG)
    ]
    units = [(Unit.DMA, index) for index in range(DMA)] + [
        (Unit.MX, index) for index in range(NPUS)
    ]
    queues = tuple(
        Queue(unit=unit, index=index, instructions=(*work, Halt())) for unit, index in units
    )
    starts = np.arange(LONG + 1, dtype=np.int64) * 7
    program: Program = replace(made.simulation.program, queues=queues)
    return replace(
        made.simulation,
        program=program,
        cycles=7 * LONG + 3,
        timelines=tuple(QueueTimeline(starts, starts + 3) for _ in queues),
    )


@pytest.mark.parametrize("operators", [1, 2])
def test_bars_are_grouped_until_they_are_few(operators: int, static: Made):
    run = crowded(static, operators)
    assert (DMA + NPUS) * LONG > MOST_BARS
    found = all_bars(run)

    assert 0 < sum(map(len, found.values())) <= MOST_BARS
    for bars in found.values():
        assert sum(bar.busy for bar in bars) == 3 * LONG
        assert (bars[0].first, bars[-1].end) == (0, run.cycles - 7)
        assert all(one.end <= other.first for one, other in itertools.pairwise(bars))
        assert {bar.operator for bar in bars} <= {0, -1}


def test_a_long_bar_keeps_its_operator(static: Made):
    run = crowded(static, operators=2)
    assert run.timelines is not None
    line = run.timelines[0]
    longer = QueueTimeline(line.starts, np.append(line.starts[1:], line.ends[-1]))

    bars = queue_bars(run.program.queues[0], longer, 7)

    assert [bar.operator for bar in bars] == [number % 2 for number in range(LONG)]


def test_pictures_of_tiles_are_chosen_longest_first(flexer: Made, monkeypatch: pytest.MonkeyPatch):
    schedule = tiles_of(flexer.module)
    monkeypatch.setattr(tile_rows, "MOST_TILE_MARKS", len(schedule.events) // 2)
    view = view_of(flexer.report, flexer.module, None)

    pairs = list(zip(view.tiles, schedule.alone, strict=True))
    drawn = [item for row, item in pairs if row.chart is not None]
    left = [item for row, item in pairs if row.chart is None]
    views = tile_rows.tile_views(schedule, [(0, 1)] * len(schedule.events), 1)
    needed = {schedule.graph.operators[step]: item.marks_needed for step, item in views.items()}
    assert view.undrawn == len(left) > 0
    assert 0 < sum(needed[item.operator] for item in drawn) <= len(schedule.events) // 2
    assert max(item.cycles for item in drawn) > max(item.cycles for item in left)


def test_the_page_says_what_is_not_drawn(flexer: Made):
    assert "are not drawn" not in parse(flexer.page).whole_text
