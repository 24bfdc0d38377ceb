"""What values of each stage show of themselves in a notebook."""

from html.parser import HTMLParser

from accnn.ir.graph_schedule import (
    GraphSchedule,
    Group,
    Residence,
    SolveStatus,
    Stream,
    Transfer,
    Workspace,
)
from accnn.ir.mapping import Allocation, Loop, LoopNest, SpatialLoop
from accnn.ir.notebook import escaped, table_html
from accnn.ir.workload import Dim, Operand, Workload
from tests.ir.tiles.test_schedule import schedule


class Cells(HTMLParser):
    """Reads tables back: the text of each cell, row by row."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.caption = ""
        self.tags: list[str] = []
        self._open = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        self.tags.append(tag)
        self._open = tag
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open == "caption":
            self.caption += data
        if self._open in ("td", "th"):
            self.rows[-1][-1] += data


def read(text: str) -> Cells:
    cells = Cells()
    cells.feed(text)
    return cells


class TestTable:
    def test_holds_every_cell(self) -> None:
        found = read(table_html("all", ("name", "bytes"), [("a", 4096), ("b", None), ("c", 0.5)]))

        assert found.caption == "all"
        assert found.rows == [["name", "bytes"], ["a", "4,096"], ["b", ""], ["c", "0.5"]]

    def test_long_ones_say_what_they_leave_out(self) -> None:
        found = read(table_html("all", ("n",), [(number,) for number in range(9)], most=7))

        assert found.rows[-2:] == [["6"], ["and 2 more"]]

    def test_of_the_longest_that_is_shown_nothing_is_left_out(self) -> None:
        found = read(table_html("all", ("n",), [(number,) for number in range(7)], most=7))

        assert found.rows[-1] == ["6"]

    def test_texts_are_no_html(self) -> None:
        evil = "<script>alert('&')</script>"
        found = read(table_html(evil, (evil,), [(evil,)]))

        assert "script" not in found.tags
        assert (found.caption, found.rows) == (evil, [[evil], [evil]])

    def test_what_a_browser_hides_is_spelt_out(self) -> None:
        assert escaped("a\u202eb\0") == "a\\u202eb\\x00"
        assert escaped("größe") == "größe"


def test_a_loop_nest_shows_loops_and_what_memories_keep() -> None:
    nest = LoopNest(
        workload=Workload(P=4, C=8, K=16),
        temporal=(Loop(Dim.C, 2), Loop(Dim.P, 4), Loop(Dim.C, 4)),
        spatial=(SpatialLoop(Dim.K, 16, "lanes"),),
        allocations=(
            *(Allocation(operand, "dram", 0) for operand in Operand),
            Allocation(Operand.I, "gb", 1),
            Allocation(Operand.O, "gb", 1),
            Allocation(Operand.W, "wb", 3),
        ),
    )
    found = read(nest._repr_html_())

    assert found.caption == "Loop nest, P=4 C=8 K=16"
    assert found.rows[1:] == [
        ["dram [W I O]", "for C 2"],
        ["gb [I O]", "for P 4"],
        ["", "for C 4"],
        ["wb [W]", ""],
        ["", "par K 16 on lanes"],
    ]


def test_a_graph_schedule_shows_what_each_step_keeps_and_moves() -> None:
    plan = GraphSchedule(
        budget=4096,
        order=("a", "c"),
        groups=(Group(members=("b", "c")),),
        residences=(Residence(tensor="a<b>", first_step=0, last_step=1, address=0, bytes=64),),
        loads=(Transfer(tensor="x", step=0, bytes=100),),
        streams=(Stream(tensor="w", step=1, bytes=30),),
        stores=(Transfer(tensor="y", step=1, bytes=12),),
        workspaces=(Workspace(step=1, address=64, bytes=8),),
        status=SolveStatus.FEASIBLE,
        objective=142,
        bound=100,
    )
    found = read(plan._repr_html_())

    assert found.caption == (
        "Graph schedule, 2 steps in 4,096 bytes: 142 bytes off chip (feasible), bound 100"
    )
    assert found.rows[1:] == [
        ["0", "a", "a<b>", "", "load x", "100"],
        ["1", "b c", "a<b>", "w", "store y", "42"],
    ]


def test_a_tile_schedule_shows_when_each_operator_runs() -> None:
    tiles = schedule()
    found = read(tiles._repr_html_())
    computes = sum(event.kind == "compute" for event in tiles.events)

    assert f"{tiles.cycles:,} cycles" in found.caption
    (row,) = found.rows[1:]
    assert row[0] == tiles.graph.operators[0]
    assert [int(cell.replace(",", "")) for cell in row[1:]] == [
        min(event.start for event in tiles.events),
        max(event.end for event in tiles.events),
        computes,
        len(tiles.events) - computes,
        tiles.transferred_bytes,
    ]
