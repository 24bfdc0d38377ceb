import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.ir.errors import ParseError, VerifyError
from accnn.ir.graph_schedule import Residence, SolveStatus, Stream, Transfer
from accnn.ir.proof import Scope, gap_of
from accnn.ir.report import (
    SCHEMA_VERSION,
    Dims,
    FileIdentity,
    GraphScheduleReport,
    OperandTraffic,
    OperatorReport,
    OutputCheck,
    PassRun,
    QuantizationReport,
    Report,
    TileScheduleReport,
    Totals,
    Verification,
    VerificationStatus,
    from_json,
    to_json,
)
from accnn.ir.workload import Operand, Workload

MINIMAL = Report(
    version="0.1.0",
    model=FileIdentity("net.onnx", "ab" * 32),
    arch=FileIdentity("simba.toml", "cd" * 32),
    options={"until": "import", "seed": 0},
    seed=0,
    totals=Totals(macs=12),
)

FULL = replace(
    MINIMAL,
    options={"verify": "layers", "limit": 2.5, "parallel": True, "cache": None, "seed": 7},
    seed=7,
    totals=Totals(
        macs=12,
        cycles_model=10,
        cycles_simulated=11,
        cycles_lower_bound=9,
        energy_pj=1.5,
        offchip_bytes=64,
        offchip_bytes_compulsory=60,
        traffic=(OperandTraffic(level="gb", operand=Operand.I, read_bytes=4, written_bytes=2),),
    ),
    passes=(PassRun("import", 0.25), PassRun("lower", 1.0)),
    operators=(
        OperatorReport(
            name="conv",
            kind="conv2d",
            dims=Dims.of(Workload(R=3, S=3, P=2, Q=2, C=4, K=8, G=2)),
            mapper="cosa",
            status=SolveStatus.OPTIMAL,
            objective=2.0,
            bound=1.6,
            scope=Scope.EVEN_NESTS,
            gap=gap_of(2.0, 1.6),
            estimate=2.5,
            solve_seconds=0.5,
            cycles=10,
            cycles_lower_bound=9,
            energy_pj=1.5,
            utilization=0.9,
            traffic=(
                OperandTraffic(level="dram", operand=Operand.W, read_bytes=9, written_bytes=0),
            ),
            nest="nest (P=2) {\n}",
        ),
        OperatorReport(name="relu", kind="relu"),
    ),
    graph_schedule=GraphScheduleReport(
        budget_bytes=128,
        status=SolveStatus.FEASIBLE,
        objective_bytes=64,
        bound_bytes=60,
        scope=Scope.ALL_PLANS,
        solve_seconds=0.1,
        order=("conv", "relu"),
        residences=(Residence(tensor="x", first_step=0, last_step=1, address=0, bytes=16),),
        spills=(Transfer(tensor="x", step=1, bytes=16),),
        retrieves=(Transfer(tensor="x", step=1, bytes=16),),
        streams=(Stream(tensor="y", step=1, bytes=32),),
    ),
    tile_schedules=(
        TileScheduleReport(
            name="conv",
            scheduler="static",
            operations=4,
            cycles=10,
            cycles_lower_bound=9,
            scope=Scope.GIVEN_EVENTS,
        ),
    ),
    quantization=QuantizationReport(calibration="synthetic", calibrated=False, snr_db=15.5),
    verification=Verification(
        status=VerificationStatus.VERIFIED,
        against="onnxruntime 1.20",
        outputs=(OutputCheck(name="y", elements=8, mismatches=0, max_abs_diff=0.0, tolerance=0.0),),
    ),
    notes=("Accuracy was not calibrated.",),
)


@pytest.mark.parametrize("report", [MINIMAL, FULL])
def test_from_json_inverts_to_json(report: Report) -> None:
    assert from_json(to_json(report)) == report


def test_equal_reports_give_equal_text() -> None:
    shuffled = replace(FULL, options=dict(reversed(FULL.options.items())))

    assert to_json(shuffled) == to_json(FULL)


def test_names_that_others_rely_on() -> None:
    found = json.loads(to_json(FULL))

    assert found["schema_version"] == SCHEMA_VERSION
    assert {"model", "arch", "options", "seed", "passes", "totals", "operators"} <= set(found)
    assert {"graph_schedule", "tile_schedules", "verification"} <= set(found)
    assert set(found["model"]) == set(found["arch"]) == {"name", "sha256"}
    assert set(found["passes"][0]) == {"name", "seconds"}
    assert {
        "macs",
        "cycles_model",
        "cycles_simulated",
        "cycles_lower_bound",
        "energy_pj",
        "offchip_bytes",
        "offchip_bytes_compulsory",
    } <= set(found["totals"])
    assert {
        "name",
        "kind",
        "dims",
        "mapper",
        "status",
        "bound",
        "gap",
        "solve_seconds",
        "cycles",
        "cycles_lower_bound",
        "energy_pj",
        "utilization",
        "traffic",
        "nest",
    } <= set(found["operators"][0])
    assert set("RSPQCKN") <= set(found["operators"][0]["dims"])
    plan = found["graph_schedule"]
    assert {"budget_bytes", "status", "objective_bytes", "bound_bytes", "solve_seconds"} <= set(
        plan
    )
    assert {"order", "residences", "spills", "retrieves"} <= set(plan)
    assert set(plan["residences"][0]) == {"tensor", "first_step", "last_step", "address", "bytes"}
    assert {"against", "status", "outputs"} <= set(found["verification"])
    assert set(found["verification"]["outputs"][0]) == {
        "name",
        "elements",
        "mismatches",
        "max_abs_diff",
        "tolerance",
        "remark",
    }


def test_statuses_are_spelled_as_documented() -> None:
    assert [status.value for status in VerificationStatus] == ["verified", "failed", "not verified"]


def changed(**keys: object) -> str:
    return json.dumps({**json.loads(to_json(FULL)), **keys})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{", "1:2: not JSON"),
        ("[]", "top: .* must be an object"),
        ("{}", "schema version None"),
        (changed(schema_version=1, new_name=1), "schema version 1, this accnn reads 2"),
        (changed(seed="x"), "seed: 'x' must be int"),
        (changed(seed=True), "seed: True must be int"),
        (changed(colour="red"), "top: unknown key 'colour'"),
        (changed(totals={}), "totals: macs is missing"),
        (changed(notes="x"), "notes: 'x' must be a list"),
        (changed(options=[]), r"options: \[\] must be an object"),
        (changed(options={"a": []}), r"options.a: \[\] must be bool or int"),
        (
            changed(verification={"status": "maybe"}),
            "verification.status: 'maybe' must be one of verified, failed, not verified",
        ),
        (
            changed(passes=[{"name": "a", "seconds": "b"}]),
            r"passes\[0\].seconds: 'b' must be float",
        ),
    ],
)
def test_wrong_text_is_refused(text: str, expected: str) -> None:
    with pytest.raises(ParseError, match=expected):
        from_json(text)


def operator_that_claims(**claims: Any) -> Report:
    claimed = {"scope": Scope.ALL_NESTS, **claims}
    return replace(FULL, operators=(OperatorReport(name="a", kind="b", **claimed),))


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (replace(FULL, totals=Totals(macs=1, energy_pj=float("nan"))), "report.totals.energy_pj"),
        (
            replace(FULL, operators=(OperatorReport(name="a", kind="b", gap=-0.1),)),
            "a: gap -0.1, but objective and bound give None",
        ),
        (operator_that_claims(objective=9.0, bound=10.0, gap=-0.1), "bound 10.0 of all nests lies"),
        (operator_that_claims(objective=10.0, bound=9.0, gap=0.1), "gap 0.1, but objective"),
        (operator_that_claims(objective=10.0, bound=9.0, scope=None), "belong together"),
        (operator_that_claims(objective=10.0), "belong together"),
        (
            replace(
                FULL,
                operators=(OperatorReport(name="a", kind="b", status=SolveStatus.OPTIMAL),),
            ),
            "optimal without a bound",
        ),
        (
            replace(
                FULL,
                graph_schedule=GraphScheduleReport(
                    budget_bytes=1,
                    status=SolveStatus.FEASIBLE,
                    objective_bytes=1,
                    bound_bytes=2,
                    scope=Scope.ALL_PLANS,
                ),
            ),
            "bound 2 of all plans lies above 1",
        ),
        (
            replace(
                FULL,
                tile_schedules=(replace(FULL.tile_schedules[0], cycles_lower_bound=11),),
            ),
            "conv: the bound 11 of orders of these events lies above 10",
        ),
        (
            replace(FULL, verification=Verification(status=VerificationStatus.VERIFIED)),
            "none was compared",
        ),
        (
            replace(FULL, verification=Verification(outputs=FULL.verification.outputs)),
            "not verified, but outputs were compared",
        ),
    ],
)
def test_claims_that_do_not_follow_are_refused(report: Report, expected: str) -> None:
    with pytest.raises(VerifyError, match=expected):
        to_json(report)


def test_a_nest_outside_of_a_scope_may_beat_all_in_it() -> None:
    claims = {"objective": 9.0, "bound": 10.0, "gap": gap_of(9.0, 10.0)}

    report = operator_that_claims(scope=Scope.EVEN_NESTS, **claims)

    assert from_json(to_json(report)) == report


@settings(max_examples=40, deadline=None)
@given(
    energy=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    numbers=st.lists(st.integers(0, 2**63), min_size=3, max_size=3),
    notes=st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=3),
)
def test_numbers_and_text_survive(
    energy: float | None, numbers: list[int], notes: list[str]
) -> None:
    macs, cycles, size = numbers
    totals = Totals(macs=macs, cycles_model=cycles, offchip_bytes=size, energy_pj=energy)
    report = replace(FULL, totals=totals, notes=tuple(notes))

    assert from_json(to_json(report)) == report
