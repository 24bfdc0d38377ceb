"""Counts by tier and operator."""

import json

from accnn.compiler.conformance.judge import Help, Machines, Status
from accnn.compiler.conformance.tables import share_on_accelerator, to_json, to_markdown
from tests.compiler.conformance.cases import verdict

OUTCOMES = (
    verdict("test_a", Status.ACCELERATOR),
    verdict("test_b", Status.HOST, plain=False),
    verdict("test_c", Status.UNSUPPORTED, "Gather", tier=2, reason="node 'x' is not supported"),
    verdict("test_d", Status.UNSUPPORTED, "Gather", tier=2, reason="node 'y' is not supported"),
    verdict("test_e", Status.FAILED, "Loop", tier=3, reason="output 'y' | wrong", expanded=True),
)


def page() -> list[str]:
    return to_markdown(OUTCOMES, Machines()).splitlines()


def test_tiers_are_counted():
    assert "| 1 | all | 1 | 1 | 0 | 0 | 2 | 50 % |" in page()
    assert "| 1 | plain types | 1 | 0 | 0 | 0 | 1 | 100 % |" in page()
    assert "| 1 and 2 | all | 1 | 1 | 2 | 0 | 4 | 25 % |" in page()
    assert "| all | all | 1 | 1 | 2 | 1 | 5 | 20 % |" in page()
    assert "| all | not expanded | 1 | 1 | 2 | 0 | 4 | 25 % |" in page()


def test_help_is_counted_of_what_passed():
    helped = (
        verdict("test_f", Status.ACCELERATOR, help=Help(("axes",), evaluated=True)),
        verdict("test_g", Status.ACCELERATOR, help=Help(("k",), in_float32=True)),
        verdict("test_h", Status.FAILED, help=Help(("k",), in_float32=True, evaluated=True)),
    )

    text = to_markdown((*OUTCOMES, *helped), Machines())
    assert (
        "Of the 4 passed cases 2 have inputs bound to constants, 1 compute float16 or double in "
        "float32, and of 1 nothing is left to compute once their constants are known." in text
    )


def test_operators_are_counted():
    assert "| Gather | 2 | 0 | 0 | 2 | 0 | 2 | 0 % |" in page()


def test_reasons_are_counted_without_names_and_failures_are_listed():
    assert "| node ... is not supported | 2 |" in page()
    assert "| test_e | output 'y' \\| wrong |" in page()


def test_no_failure_is_told():
    assert "None." in to_markdown(OUTCOMES[:1], Machines())


def test_the_share_of_nothing_is_nothing():
    assert share_on_accelerator(()) == 0


def test_json_has_every_verdict():
    content = json.loads(to_json(OUTCOMES, Machines(float="edge-fp32")))

    assert content["machines"]["float"] == "edge-fp32"
    assert [case["status"] for case in content["cases"]][:2] == [
        "passed on accelerator",
        "passed with host op",
    ]
