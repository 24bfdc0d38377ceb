"""The page with the history of all figures."""

from collections.abc import Mapping, Sequence
from html import escape

from .run import Run

_STYLE = (
    "body{font:14px sans-serif;margin:2em;max-width:80em}table{border-collapse:collapse}"
    "td,th{padding:2px 8px;border-bottom:1px solid #ddd;text-align:right}"
    "td:first-child,th:first-child{text-align:left}pre{background:#f4f4f4;padding:1em;"
    "overflow:auto}.bad{color:#b00}"
)
_WIDTH, _HEIGHT = 120, 24


def page(run: Run, history: Sequence[Mapping[str, object]]) -> str:
    """Return the page: figures and seconds over time, and what the last run printed.

    Args:
        run: The last one.
        history: All runs with it, the oldest first, as the file of the history has them.
    """
    lines = series(history)
    figures = "".join(_line(name, values) for name, values in lines.items())
    printed = "".join(
        f"<details><summary{_mark(item.exit_code)}>{escape(item.command)}: {item.seconds:g} s, "
        f"exit code {item.exit_code}</summary><pre>{escape(item.printed)}</pre></details>"
        for item in run.measured
    )
    return (
        f"<!doctype html><meta charset=utf-8><title>Benchmarks</title><style>{_STYLE}</style>"
        f"<h1>Benchmarks</h1><p>{len(history)} runs, the last one {escape(run.begun)} of "
        f"{escape(run.revision) or 'unknown sources'}.</p><table><tr><th>figure<th>first"
        f"<th>before<th>last<th>change<th>history</tr>{figures}</table>"
        f"<h2>What the last run printed</h2>{printed}\n"
    )


def series(history: Sequence[Mapping[str, object]]) -> dict[str, list[float]]:
    """Return the values of every figure, and the seconds of every command, over time.

    Args:
        history: Runs, the oldest first.
    """
    found: dict[str, list[float]] = {}
    seconds: dict[str, list[float]] = {}
    for run in history:
        for item in _items(run):
            for name, value in item["figures"].items():
                found.setdefault(name, []).append(float(value))
            seconds.setdefault(f"seconds of {item['command']}", []).append(item["seconds"])
    return found | seconds


def _items(run: Mapping[str, object]) -> list[dict]:  # pyright: ignore
    return list(run["measured"])  # pyright: ignore


def _mark(exit_code: int) -> str:
    return " class=bad" if exit_code else ""


def _line(name: str, values: Sequence[float]) -> str:
    before = values[-2] if len(values) > 1 else None
    change = "-" if not before else f"{values[-1] / before - 1:+.2%}"
    shown = "-" if before is None else f"{before:,.6g}"
    return (
        f"<tr><td>{escape(name)}<td>{values[0]:,.6g}<td>{shown}<td>{values[-1]:,.6g}"
        f"<td>{change}<td>{_curve(values)}</tr>"
    )


def _curve(values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    span, step = (high - low) or 1.0, _WIDTH / max(1, len(values) - 1)
    points = " ".join(
        f"{at * step:.1f},{_HEIGHT - 2 - (value - low) / span * (_HEIGHT - 4):.1f}"
        for at, value in enumerate(values)
    )
    return (
        f"<svg width={_WIDTH} height={_HEIGHT}><polyline points='{points}' fill=none "
        "stroke=#357 stroke-width=1.5 /></svg>"
    )
