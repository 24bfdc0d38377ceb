"""The command line of acc-opt; what it prints and refuses is tested by text files, too."""

import numpy as np
import pytest
from typer.testing import CliRunner

from accnn.compiler.cli.acc_opt import app
from accnn.ir.resources import Constants
from accnn.passes import registry
from accnn.passes.registry import PASSES

from ...passes.sample_passes import BreakThings, DropOutputs

NET = """// pipeline: merge-duplicates
graph net {
  input %x : f32<1x4>
  const %w : f32<4x1>
  const %v : f32<1x4>
  %t = transpose(%w) {perm = [1, 0]} : f32<1x4>
  %y = add(%x, %t) : f32<1x4>
  return %y
}
"""


@pytest.fixture
def opt(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.ir").write_text(NET)
    data = {"w": np.arange(4, dtype=np.float32).reshape(4, 1), "v": np.ones((1, 4), np.float32)}
    Constants(data).save(tmp_path / "net.safetensors")
    return lambda *arguments, **more: CliRunner().invoke(app, arguments, **more)


def test_the_option_wins_over_the_header(opt):
    result = opt("net.ir", "--pipeline", "eliminate-dead")

    assert result.exit_code == 0, result.output
    assert "%v" in opt("net.ir").stdout
    assert "%v" not in result.stdout


def test_reads_stdin(opt):
    assert opt("-", input=NET).stdout == opt("net.ir").stdout


def test_an_error_in_stdin_names_it(opt):
    assert "<stdin>:1:1: " in opt("-", input="grph").stderr


def test_constants_go_beside_the_output(opt, tmp_path):
    result = opt("net.ir", "-p", "fold-layout", "--constants", "net.safetensors", "-o", "out.ir")

    assert (result.exit_code, result.output) == (0, "")
    text = (tmp_path / "out.ir").read_text()
    assert text.startswith("// constants: out.safetensors\ngraph net {\n")
    assert "const %t : f32<1x4>" in text
    again = Constants.load(tmp_path / "out.safetensors")
    np.testing.assert_array_equal(again["t"], [[0, 1, 2, 3]])
    assert opt("out.ir", "-o", "third.ir").exit_code == 0
    assert (tmp_path / "third.ir").read_text() == text.replace("out.saf", "third.saf")


def test_prints_after_a_pass_to_stderr(opt):
    result = opt("net.ir", "-p", "eliminate-dead,fold-layout", "--print-ir-after", "fold-layout")

    assert result.stderr.startswith("// after fold-layout (2/2)\ngraph net {")
    assert result.stdout.startswith("graph net {")


def test_prints_after_all(opt):
    result = opt("net.ir", "-p", "eliminate-dead,fold-layout", "--print-ir-after", "all")

    assert result.stderr.count("// after ") == 2


def test_printing_after_an_unknown_pass(opt):
    result = opt("net.ir", "--print-ir-after", "fold")

    assert result.exit_code == 2
    assert "no pass named 'fold'" in result.stderr


def test_timing(opt):
    lines = opt("net.ir", "--timing").stderr.splitlines()

    assert [line.split()[-1] for line in lines] == ["merge-duplicates", "total"]


def test_lists_every_pass_with_options(opt):
    result = opt("--list-passes")

    assert result.exit_code == 0
    assert [
        name for name in (item.name for item in PASSES) if f"{name}\n" not in result.stdout
    ] == []
    assert "    graph, arch -> graph_schedule\n    scratchpad=none  (str|none)\n" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-p", "eliminate-dead"), "no file given"),
        (("none.ir",), "cannot read none.ir: No such file"),
        (("net.ir", "--constants", "none.safetensors"), "none.safetensors: cannot read constants"),
        (("net.ir", "--constants", "net.ir"), "constants are not a safetensors file"),
        (
            ("net.ir", "-o", "missing/out.ir"),
            "cannot write missing/out.ir: missing is not a folder",
        ),
        (("net.ir", "-o", "."), "cannot write .: it is a folder"),
        (("binary.ir",), "binary.ir: not a text in UTF-8"),
    ],
)
def test_bad_input_is_told(opt, tmp_path, arguments, message):
    (tmp_path / "binary.ir").write_bytes(b"\xff\xfe\x00")

    result = opt(*arguments)

    assert result.exit_code == 2
    assert f"acc-opt: error: {message}" in result.stderr


class TestCrash:
    @pytest.fixture(autouse=True)
    def more_passes(self, monkeypatch):
        monkeypatch.setattr(registry, "PASSES", (*PASSES, BreakThings, DropOutputs))

    def test_writes_a_reproducer_that_fails_in_the_same_way(self, opt, tmp_path):
        first = opt("net.ir", "-p", "eliminate-dead,break-things", "--constants", "net.safetensors")

        assert first.exit_code == 1
        assert "pass 2, break-things: KeyError: 'oops'" in first.stderr
        assert "hint: to reproduce: acc-opt reproducer.ir" in first.stderr
        assert (tmp_path / "reproducer.safetensors").is_file()
        again = opt("reproducer.ir", "--reproducer", "again.ir")
        assert "pass 1, break-things: KeyError: 'oops'" in again.stderr
        assert (tmp_path / "again.ir").read_text() == (
            (tmp_path / "reproducer.ir").read_text().replace("reproducer.saf", "again.saf")
        )

    def test_verify_each_is_on_by_default(self, opt):
        result = opt("net.ir", "-p", "drop-outputs")

        assert result.exit_code == 1
        assert (
            "drop-outputs: the module is not valid afterwards: net has no output" in result.stderr
        )

    def test_verify_each_can_be_switched_off(self, opt):
        result = opt("net.ir", "-p", "drop-outputs", "--no-verify-each")

        assert result.exit_code == 0
        assert result.stdout.endswith("  return\n}\n")

    def test_timing_is_shown_also_after_a_failure(self, opt):
        result = opt("net.ir", "-p", "eliminate-dead,break-things", "--timing")

        assert " s  eliminate-dead\n" in result.stderr
