"""The same command gives the same bytes."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from accnn.compiler.cli.acc_compile import app
from accnn.ir.report import from_json
from tests.flow import compile_graph
from tests.networks import residual_network
from tests.thinned import examples

QUICKLY = ("--mapper", "output-stationary", "--processes", "1")
"""Other mappers: ``tests/compiler/test_cached_compile.py``."""
EQUAL = ("program.acc", "program.asm", "module.ir", "model.onnx", "trace.json")


def without_seconds(value):
    """Return JSON without the figures that are times of a clock."""
    if isinstance(value, dict):
        return {
            key: without_seconds(item)
            for key, item in value.items()
            if key not in ("seconds", "solve_seconds")
        }
    return [without_seconds(item) for item in value] if isinstance(value, list) else value


@pytest.fixture(scope="module")
def twice(branched: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("twice")
    for name in ("one", "two"):
        arguments = [str(branched), "--arch", "simba", "-o", str(folder / name), *QUICKLY]
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 0, done.output
    return folder / "one", folder / "two"


@pytest.mark.parametrize("name", EQUAL)
def test_files_are_equal_to_the_byte(name: str, twice: tuple[Path, Path]):
    one, two = (folder / name for folder in twice)

    assert one.read_bytes() == two.read_bytes()


def test_reports_are_equal_but_for_seconds(twice: tuple[Path, Path]):
    one, two = (json.loads((folder / "report.json").read_text()) for folder in twice)

    assert without_seconds(one) == without_seconds(two)
    from_json((twice[0] / "report.json").read_text()).verify()


def test_pages_are_equal_but_for_seconds(twice: tuple[Path, Path]):
    pages = [(folder / "report.html").read_text() for folder in twice]
    timeless = [
        re.sub(r"<summary>Time of each pass.*?</table>", "", page, flags=re.S) for page in pages
    ]
    one, two = (re.sub(r"\d+\.\d+ s<", "", page) for page in timeless)

    assert one == two
    assert len(one) > 50_000


def test_nothing_else_is_in_the_folder(twice: tuple[Path, Path]):
    names = {path.name for path in twice[0].iterdir()}

    assert names == {*EQUAL, "report.html", "report.json"}
    assert {path.name for path in twice[0].parent.iterdir()} == {"one", "two"}


def test_both_solvers_give_the_same_bytes(branched: Path, tmp_path: Path):
    settings = ("engine=ilp", "scratchpad=mr", "latency=0", "rounds=0")
    for solver in ("highs", "cbc"):
        words = [str(branched), "--arch", "simba", "-o", str(tmp_path / solver), *QUICKLY]
        for setting in (*settings, f"solver={solver}"):
            words += ["--set", f"schedule-cosma.{setting}"]
        done = CliRunner().invoke(app, [*words, "--no-cache", "--verify", "off"])
        assert done.exit_code == 0, done.output

    for name in ("program.acc", "program.asm", "module.ir"):
        assert (tmp_path / "highs" / name).read_bytes() == (tmp_path / "cbc" / name).read_bytes()


@pytest.mark.parametrize("arch", ["simba", "flexer-arch5"])
def test_every_legal_order_gives_the_same_values(arch: str):
    compiled = compile_graph(*residual_network(8), arch, budget=6000)
    in_time = compiled.run()

    for seed in range(examples(4)):
        shuffled = compiled.run(interleaving_seed=seed)
        assert compiled.wrong(shuffled) == []
        assert shuffled.cycles == in_time.cycles


@pytest.mark.slow
@pytest.mark.parametrize("mapper", ["output-stationary", "salsa"])
def test_neither_hashes_nor_processes_change_a_byte(mapper: str, branched: Path, tmp_path: Path):
    for seed, processes in (("1", "1"), ("2", "2")):
        words = [str(branched), "--arch", "simba", "-o", str(tmp_path / seed), "--mapper", mapper]
        words += ["--processes", processes, "--no-cache", "--quiet"]
        call = f"from accnn.compiler.cli.acc_compile import app; app({words!r})"
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", call], env=environment, check=True, timeout=300)

    one, two = tmp_path / "1", tmp_path / "2"
    for name in EQUAL:
        assert (one / name).read_bytes() == (two / name).read_bytes(), name
