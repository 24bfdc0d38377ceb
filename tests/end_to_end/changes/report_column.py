"""A column of the report: how many MACs an operator has."""

from tests.end_to_end.changes.change import ROOT, Change, Edit

_TEMPLATE = "compiler/report/html/templates/report.html.j2"


def prove() -> None:
    """The figure stands in ``report.json``, in the terminal's table and on the page."""
    import io
    import shutil
    from pathlib import Path
    from tempfile import TemporaryDirectory
    from unittest.mock import patch

    from rich.console import Console

    from accnn.compiler.report.html import page
    from accnn.compiler.report.operator_table import OperatorTable
    from accnn.ir.report import from_json, to_json
    from tests.compiler.report.html.conftest import report_on
    from tests.flow import compile_graph
    from tests.networks import NetworkBuilder

    net = NetworkBuilder()
    net.conv(net.input("x", (1, 3, 8, 8)), "y", 16, 3)
    compiled = compile_graph(net.build("y"), net.data, "simba")
    macs = 3 * 3 * 3 * 16 * 8 * 8
    with TemporaryDirectory() as folder:
        templates = Path(folder) / "templates"
        shutil.copytree((ROOT / _TEMPLATE).parent, templates)
        (templates / Path(_TEMPLATE).name).write_text(CHANGE.texts()[_TEMPLATE])
        with patch.object(page, "_TEMPLATES", templates):
            made = report_on(compiled.module)
            shown = made.page
    (row,) = made.report.operators
    console = Console(width=140, record=True, file=io.StringIO())
    console.print(OperatorTable((row,), 1))

    assert from_json(to_json(made.report)).operators[0].macs == macs
    assert "27.65 k" in console.export_text()
    assert ">MACs</th>" in shown
    assert f'data-v="{macs}"' in shown


CHANGE = Change(
    row="a column of the report",
    edits=(
        Edit(
            "ir/report.py",
            "    estimate: float | None = None\n",
            "    estimate: float | None = None\n    macs: int | None = None\n",
        ),
        Edit(
            "compiler/report/contents/operators.py",
            "        estimate=None if mapping is None else mapping.estimate,\n",
            "        estimate=None if mapping is None else mapping.estimate,\n"
            "        macs=None if load is None else load.macs,\n",
        ),
        Edit(
            "compiler/report/operator_table.py",
            '"use", "energy")\n',
            '"use", "energy", "MACs")\n',
        ),
        Edit(
            "compiler/report/operator_table.py",
            '        amount(joule(item.energy_pj), "J"),\n',
            '        amount(joule(item.energy_pj), "J"),\n        amount(item.macs),\n',
        ),
        Edit(
            "compiler/report/html/operator_rows.py",
            "    off_chip: TableCell\n",
            "    off_chip: TableCell\n    macs: TableCell\n",
        ),
        Edit(
            "compiler/report/html/operator_rows.py",
            "        off_chip=_off_chip(module, item),\n",
            "        off_chip=_off_chip(module, item),\n"
            "        macs=TableCell(amount(item.macs), item.macs),\n",
        ),
        Edit(_TEMPLATE, '("off-chip", true), ', '("off-chip", true), ("MACs", true), '),
        Edit(_TEMPLATE, "{{ cell(row.off_chip) }}", "{{ cell(row.off_chip) }}{{ cell(row.macs) }}"),
    ),
    proof=prove,
)
