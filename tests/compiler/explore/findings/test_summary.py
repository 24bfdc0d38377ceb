import json
import math
from pathlib import Path

import pytest

from accnn.compiler.explore.findings.figures import all_figures, geomean
from accnn.compiler.explore.findings.rows import rows_of
from accnn.compiler.explore.findings.summary import pareto_front, summary_of, value_of
from accnn.compiler.explore.page.render import study_page
from accnn.compiler.explore.page.view import difference, view_of
from accnn.compiler.explore.results.export import write_parquet
from accnn.compiler.explore.study.schema import StudyObjective
from accnn.ir.codec.files import write_csv
from tests.exploring import STUDY, run_small, small_study


@pytest.fixture
def database(tmp_path: Path):
    return run_small(small_study(tmp_path), tmp_path / "a.db")


def test_figures_add_up_layers_by_how_often_they_occur(database):
    first = all_figures(database)[0]

    assert json.loads(first.point.values)["pe.size"] == 4
    assert first.networks[0].cycles == (2 * 4 * 8 * 8 + 2 * 16 * 8) / 4
    assert first.of(StudyObjective.EDP) == pytest.approx(
        first.networks[0].cycles * first.networks[0].energy_pj
    )


def test_a_point_with_an_infeasible_task_has_no_figures_and_a_cause(database):
    summary = summary_of(database, StudyObjective.EDP)

    assert [item.point.number for item in all_figures(database) if not item.networks] == [2]
    assert [(row.kind, row.cause, row.count) for row in summary.failures] == [
        ("infeasible", "nothing fits", 2)
    ]


def test_the_front_holds_what_nothing_beats():
    items = [(1, 9), (2, 5), (3, 5), (2, 7), (4, 1), (5, 1)]

    front = pareto_front(items, lambda item: item[0], lambda item: item[1])

    assert front == ((1, 9), (2, 5), (4, 1))


def test_best_points_come_first(database):
    summary = summary_of(database, StudyObjective.LATENCY)

    values = [value_of(item, StudyObjective.LATENCY) for item in summary.points]
    assert values == sorted(values)
    assert summary.bests[0].value == pytest.approx(values[0])
    assert summary.sensitivities[0].name == "pe.size"
    assert summary.sensitivities[0].spread == pytest.approx(4.0)


def test_the_geometric_mean():
    assert geomean([1.0, 4.0]) == pytest.approx(2.0)
    assert geomean([0.0, 4.0]) == 0.0
    assert math.isclose(geomean([5.0]), 5.0)


def test_the_page_is_one_file_that_runs_and_loads_nothing(database):
    page = study_page("<small>", "a study", summary_of(database, StudyObjective.EDP))

    assert "&lt;small&gt;" in page
    assert "<small>" not in page
    assert "default-src 'none'" in page
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")
    assert "pe.size = 16" in page
    assert "nothing fits" in page
    assert page == study_page("<small>", "a study", summary_of(database, StudyObjective.EDP))


def test_a_page_of_nothing_says_so(tmp_path: Path):
    text = STUDY + "[constraints]\narea_mm2 = 0.001\n"
    database = run_small(small_study(tmp_path, text), tmp_path / "b.db")

    page = study_page("none", "", summary_of(database, StudyObjective.EDP))

    assert "no point has figures yet" in page
    assert "at most 0.001 are allowed" in page
    assert "gb.capacity = 64 KiB, pe.size = 4" in page


def test_a_difference_names_each_key_with_both_values():
    one = '[[level]]\nname = "gb"\ncapacity = 1024\nwords = [1, 2]\n'
    other = one.replace("1024", "2048").replace("words = [1, 2]\n", "")

    assert difference(one, one) == "the same architecture"
    assert difference(one, other) == "gb.capacity = 1 KiB, not 2 KiB\ngb.words = [1, 2], not none"


def test_a_difference_of_many_keys_is_cut_and_says_so():
    one = "".join(f"key{number} = 1\n" for number in range(30))

    lines = difference(one, one.replace("= 1", "= 2")).splitlines()

    assert lines[0] == "key0 = 1, not 2"
    assert lines[-1] == "and 6 more"
    assert len(lines) == 25


def test_sensitivities_are_shown_in_units_with_bars_up_to_the_largest(database):
    view = view_of("", "", summary_of(database, StudyObjective.EDP))

    rows = {row.value: row for item in view.sensitivities for row in item.rows}
    assert {"64 KiB", "128 KiB", "256 KiB"} <= set(rows)
    assert max(row.bar for row in rows.values()) == 160
    assert min(row.bar for row in rows.values()) >= 1


def test_rows_have_equal_columns_and_are_written(database, tmp_path: Path):
    rows = rows_of(all_figures(database))

    assert len({tuple(row) for row in rows}) == 1
    write_csv(tmp_path / "points.csv", rows)
    lines = (tmp_path / "points.csv").read_text().splitlines()
    assert lines[0].startswith("point,gb.capacity,pe.size,wb.capacity,mapper,area_mm2")
    assert len(lines) == 1 + 9


def test_parquet_holds_the_same(database, tmp_path: Path):
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = rows_of(all_figures(database))

    write_parquet(tmp_path / "points.parquet", rows)

    assert parquet.read_table(tmp_path / "points.parquet").to_pylist() == rows
