"""A result in a notebook, and as a data frame."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

from accnn.compiler.driver import Result
from accnn.compiler.driver import compile as compile_network
from accnn.compiler.options import CompileOptions
from accnn.ir.errors import OptionError
from tests.compiler.cli.nets import tiny


@pytest.fixture(scope="module")
def result() -> Result:
    options = CompileOptions(mapper="output-stationary", scheduler="in-order", cache=None)
    return compile_network(tiny(name="<b>x"), arch="edge-1m", options=options)


def library(name: str) -> ModuleType:
    """Return a library whose data frames tell who made them, of what."""
    module = ModuleType(name)
    module.__dict__["DataFrame"] = lambda columns: SimpleNamespace(library=name, columns=columns)
    return module


def test_a_result_shows_verdict_totals_and_operators(result: Result) -> None:
    shown = result._repr_html_()

    assert "verified: 0 of 256 elements differ" in shown
    assert f"{result.report.totals.cycles_simulated:,}" in shown
    assert f"slowest {len(result.report.operators)} of" in shown
    assert "conv2d" in shown


def test_names_of_the_network_are_no_html(result: Result) -> None:
    assert "<b>x" in " ".join(name for name, _ in result.network.imported.input_names)
    assert "<b>x" not in result._repr_html_()


def test_a_data_frame_has_a_row_for_each_operator(
    result: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", library("pandas"))
    operators = result.report.operators

    frame = result.to_dataframe()

    assert frame.library == "pandas"
    assert frame.columns["name"] == [item.name for item in operators]
    assert frame.columns["cycles"] == [item.cycles for item in operators]
    assert frame.columns["K"] == [item.dims and item.dims.K for item in operators]
    assert {type(value) for value in frame.columns["status"]} <= {str, type(None)}
    assert "traffic" not in frame.columns


def test_polars_does_where_pandas_is_not(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setitem(sys.modules, "polars", library("polars"))

    assert result.to_dataframe().library == "polars"


def test_without_either_the_error_says_so(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setitem(sys.modules, "polars", None)

    with pytest.raises(OptionError, match="needs pandas or polars") as caught:
        result.to_dataframe()
    assert caught.value.hint == "pip install pandas"
