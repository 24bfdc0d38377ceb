"""ONNX's own test cases of single nodes: those that verify must go on to verify.

``tests/data/node_cases.txt`` lists them; the slow test with ``--update-golden`` writes it anew.
"""

import warnings
from dataclasses import replace
from pathlib import Path

import pytest

from accnn.ir.errors import AccnnError
from accnn.ir.operators.functions import FUNCTIONS, Activation
from accnn.ir.report import VerificationStatus
from tests.node_cases import NodeCase, node_cases

LIST = Path(__file__).parents[1] / "data" / "node_cases.txt"
PASSED = tuple(LIST.read_text(encoding="utf-8").split())


def one_of_each() -> tuple[str, ...]:
    """Return a case of every operator that has one."""
    first: dict[str, str] = {}
    for name in PASSED:
        first.setdefault(node_cases()[name].kind, name)
    return tuple(first.values())


def verdict(case: NodeCase, folder: Path) -> str:
    """Return what becomes of a case: its verdict, or the class of the error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            return case.status(folder)
    except AccnnError as error:
        return type(error).__name__


def test_a_case_of_every_operator_verifies(tmp_path: Path):
    found = {name: verdict(node_cases()[name], tmp_path) for name in one_of_each()}

    assert len(found) > 120
    assert {name: said for name, said in found.items() if said != VerificationStatus.VERIFIED} == {}


def test_a_wrong_value_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    wrong = replace(FUNCTIONS[Activation.TANH], evaluate=lambda x, a, b: x)
    monkeypatch.setitem(FUNCTIONS, Activation.TANH, wrong)  # type: ignore[arg-type]

    assert verdict(node_cases()["test_tanh"], tmp_path) == VerificationStatus.FAILED


@pytest.mark.slow
def test_no_case_is_lost(tmp_path: Path, request: pytest.FixtureRequest):
    found = {name: verdict(case, tmp_path) for name, case in node_cases().items()}
    verified = [name for name, said in found.items() if said == VerificationStatus.VERIFIED]
    if request.config.getoption("--update-golden"):
        LIST.write_text("\n".join(sorted(verified)) + "\n", encoding="utf-8")

    assert set(PASSED) - set(verified) == set()
