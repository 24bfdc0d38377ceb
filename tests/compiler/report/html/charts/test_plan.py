"""The picture of the plan shows residences, spills, retrieves and what moves in each step."""

from dataclasses import replace

from accnn.compiler.report.html.charts.plan import plan_chart
from accnn.ir.graph_schedule import GraphSchedule, Group, Residence, Transfer, Workspace
from tests.networks import residual_network

GRAPH, _ = residual_network()
ORDER = tuple(op.name for op in GRAPH.ops[:4])
A, B = ORDER[:2]
PLAN = GraphSchedule(
    budget=100,
    order=ORDER,
    residences=(
        Residence(tensor=A, first_step=0, last_step=1, address=10, bytes=40),
        Residence(tensor=B, first_step=1, last_step=2, address=60, bytes=20),
        Residence(tensor=A, first_step=3, last_step=3, address=0, bytes=40),
    ),
    spills=(Transfer(tensor=A, step=2, bytes=40),),
    retrieves=(Transfer(tensor=A, step=3, bytes=40),),
    workspaces=(Workspace(step=2, address=0, bytes=50),),
)


def test_residences_stand_at_their_addresses_and_steps():
    marks = plan_chart(PLAN, GRAPH, {}).panels[0].marks
    paths = {mark.title: mark.path for mark in marks if mark.look == "blue full"}

    assert list(paths.values()) == [
        "M1 50h18v40h-18z",
        "M11 20h18v20h-18z",
        "M31 60h8v40h-8z",
    ]
    assert f"activation {A}: 40 B at 10, steps 0 to 1" in paths


def test_spills_and_retrieves_mark_the_edges_of_residences():
    marks = plan_chart(PLAN, GRAPH, {}).panels[0].marks
    edges = {mark.title: mark.path for mark in marks if mark.shape == "lines"}

    assert edges == {
        f"spill of {A}: 40 B": "M19 50V90",
        f"retrieve of {A}: 40 B": "M31 60V100",
    }


def test_moves_stand_below_their_steps():
    marks = plan_chart(PLAN, GRAPH, {}).panels[1].marks

    assert [(mark.operator, mark.path) for mark in marks] == [
        (2, "M21 0h8v40h-8z"),
        (3, "M31 0h8v40h-8z"),
    ]


def test_the_legend_names_only_what_is_there():
    meanings = [key.meaning for key in plan_chart(PLAN, GRAPH, {}).legend]

    assert meanings == [
        "Scratchpad:",
        "activation",
        "workspace for tiles",
        "spilled here",
        "retrieved here",
        "Moved off chip:",
        "spill",
        "retrieve",
    ]


def test_the_workspace_of_a_group_tells_its_members() -> None:
    group = Group(members=ORDER[2:], rows=2)
    plan = replace(PLAN, order=(*ORDER[:2], ORDER[3]), groups=(group,), residences=())
    plan = replace(plan, spills=(), retrieves=())
    chart = plan_chart(plan, GRAPH, {})

    (mark,) = chart.panels[0].marks
    assert mark.look == "teal half"
    members = ", ".join(ORDER[2:])
    assert mark.title == f"fused group {ORDER[3]}, stripes of 2 rows: {members}: 50 B at 0"
    meanings = [key.meaning for key in chart.legend]
    assert "tiles and lines of a fused group" in meanings
    assert "workspace for tiles" not in meanings
