"""What verdicts add up to: counts by tier and operator, as Markdown and as JSON."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict

from .judge import CaseOutcome, Machines, Status

_REASONS = 25
_HEAD = """# Conformance

ONNX comes with tests of its operators: models of one operator, inputs and expected outputs. Each is
compiled, its program simulated, and the outputs compared with the expected ones within the test's
own tolerance; an operator's definition by other operators counts as a case of its own (`expanded`).

- *passed on accelerator*: the outputs are right, and everything ran on the accelerator.
- *passed with host op*: right, but some operators ran on the host.
- *unsupported*: refused with a documented error.
- *failed*: compiled and wrong, or ended by any other error.

`python -m accnn.compiler.conformance --markdown docs/conformance.md` writes this page; `--json` has
every verdict. Tier 1 is arithmetic and tier 2 what is around it; both are to run on the
accelerator. Operators of tier 3 may run on the host. Plain types are float32, bool, int8, uint8,
int32 and int64. The list of passed cases, `tests/compiler/conformance/passed.txt`, must not shrink.

The runner does what a user can do, too, and only where it must: it fixes dynamic shapes to those of
the test's inputs (`--shape`); inputs that an operator needs as constants (axes, sizes, widths,
places to write to, scales) and inputs without elements it binds to the test's values
(`--constant`). float16 and double are computed in float32 and cast back.
"""


def to_json(outcomes: Sequence[CaseOutcome], machines: Machines) -> str:
    """Return every verdict as JSON."""
    content = {"machines": asdict(machines), "cases": [asdict(item) for item in outcomes]}
    return json.dumps(content, indent=1) + "\n"


def to_markdown(outcomes: Sequence[CaseOutcome], machines: Machines) -> str:
    """Return the page of ``docs/``: what was asked, and the tables."""
    return "\n".join(
        (
            _HEAD,
            f"Float models are compiled for `{machines.float}`, quantised ones for "
            f"`{machines.integer}`.\n",
            "## By tier\n",
            _tiers(outcomes),
            _helped(outcomes),
            "## Failed\n",
            _failed(outcomes),
            "## Why cases are not supported\n",
            _reasons(outcomes),
            "## By operator\n",
            _operators(outcomes),
        )
    )


def share_on_accelerator(outcomes: Iterable[CaseOutcome]) -> float:
    """Return the share of cases that pass on the accelerator, 0 of none."""
    statuses = [item.status for item in outcomes]
    return statuses.count(Status.ACCELERATOR) / max(1, len(statuses))


def _tiers(outcomes: Sequence[CaseOutcome]) -> str:
    rows: list[list[str]] = []
    for label, tiers in (("1", (1,)), ("2", (2,)), ("1 and 2", (1, 2)), ("3", (3,))):
        chosen = [item for item in outcomes if item.tier in tiers]
        rows.append([label, "all", *_counts(chosen)])
        plain = [item for item in chosen if item.plain]
        rows.append([label, "plain types", *_counts(plain)])
    rows.append(["none", "all", *_counts([item for item in outcomes if item.tier is None])])
    rows.append(["all", "all", *_counts(outcomes)])
    unexpanded = [item for item in outcomes if not item.expanded]
    rows.append(["all", "not expanded", *_counts(unexpanded)])
    return _table(["tier", "cases", *Status, "total", "on accelerator"], rows)


def _helped(outcomes: Sequence[CaseOutcome]) -> str:
    helps = [item.help for item in outcomes if item.status.passed]
    return (
        f"Of the {len(helps)} passed cases {sum(bool(item.bound) for item in helps)} have inputs "
        f"bound to constants, {sum(item.in_float32 for item in helps)} compute float16 or double "
        f"in float32, and of {sum(item.evaluated for item in helps)} nothing is left to compute "
        "once their constants are known.\n"
    )


def _operators(outcomes: Sequence[CaseOutcome]) -> str:
    by_operator: dict[tuple[str, int | None], list[CaseOutcome]] = {}
    for item in outcomes:
        by_operator.setdefault((item.operator, item.tier), []).append(item)
    rows = [
        [operator, "" if tier is None else str(tier), *_counts(by_operator[operator, tier])]
        for operator, tier in sorted(by_operator, key=lambda key: key[0])
    ]
    return _table(["operator", "tier", *Status, "total", "on accelerator"], rows)


def _counts(outcomes: Sequence[CaseOutcome]) -> list[str]:
    found = Counter(item.status for item in outcomes)
    share = f"{100 * share_on_accelerator(outcomes):.0f} %"
    return [*(str(found[status]) for status in Status), str(len(outcomes)), share]


def _failed(outcomes: Sequence[CaseOutcome]) -> str:
    chosen = [item for item in outcomes if item.status is Status.FAILED]
    if not chosen:
        return "None.\n"
    return _table(["case", "reason"], [[item.case, _cell(item.reason)] for item in chosen])


def _reasons(outcomes: Sequence[CaseOutcome]) -> str:
    """Return the most frequent reasons; names of nodes and inputs are left out."""
    chosen = [_general(item.reason) for item in outcomes if item.status is Status.UNSUPPORTED]
    common = Counter(chosen).most_common(_REASONS)
    return _table(["reason", "cases"], [[_cell(text), str(count)] for text, count in common])


def _general(reason: str) -> str:
    parts = reason.split("'")
    return "...".join(parts[::2])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("%", "")


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
