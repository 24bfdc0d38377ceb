import csv
import itertools
import json
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from accnn.backend.load import load_architecture
from accnn.compiler.cli.acc_map import app
from accnn.compiler.layers.read import parse_layer
from accnn.ir.workload import Workload
from accnn.passes.analysis.cost import evaluate
from accnn.passes.mapping.timeloop import read_mapping

SVG = "{http://www.w3.org/2000/svg}"
LAYERS = """dnn,layer,R,S,P,Q,C,K,N,stride_w,stride_h
net,a,3,3,8,8,8,8,1,1,1
net,b,1,1,4,8,16,8,1,1,2
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("ACCNN_CACHE", str(tmp_path / "cache"))

    def invoke(*arguments):
        return CliRunner().invoke(app, [*arguments, "--arch", "simba.toml"])

    return invoke


def test_one_layer_prints_its_nest_and_a_row_per_mapper(run):
    result = run("--layer", "P=8 C=16 K=8", "--mapper", "cosa,output-stationary")

    assert result.exit_code == 0, result.output
    assert "// gb [I O]" in result.output
    assert "spatial_for" in result.output
    assert result.output.count("output-stationary") == 2


def test_csv_has_one_row_per_layer_and_mapper_in_order(run, tmp_path):
    (tmp_path / "layers.csv").write_text(LAYERS)
    out = tmp_path / "out.csv"

    result = run(
        "--layers", str(tmp_path / "layers.csv"), "--mapper", "output-stationary,random",
        "--csv", str(out),
    )  # fmt: skip

    assert result.exit_code == 0, result.output
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert list(rows[0]) == [
        "layer", "mapper", "cycles", "energy_pj", "edp", "cycles_lower_bound",
        "energy_lower_bound_pj", "status", "bound", "scope", "gap", "solve_seconds", "cpu_seconds",
        "network_cycles", "network_estimate", "network_waits",
    ]  # fmt: skip
    assert [(row["layer"], row["mapper"]) for row in rows] == [
        ("net/a", "output-stationary"), ("net/a", "random"),
        ("net/b", "output-stationary"), ("net/b", "random"),
    ]  # fmt: skip
    for row in rows:
        assert float(row["cycles"]) >= float(row["cycles_lower_bound"])
        assert float(row["edp"]) == float(row["cycles"]) * float(row["energy_pj"])


def test_json_has_the_columns_of_the_csv(run, tmp_path):
    out = tmp_path / "out.csv"

    result = run("--layer", "P=8 C=16 K=8", "--mapper", "random", "--json", "--csv", str(out))

    assert result.exit_code == 0, result.output
    (row,) = json.loads(result.stdout)
    (written,) = csv.DictReader(out.read_text().splitlines())
    assert list(row) == list(written)
    assert row["cycles"] == float(written["cycles"])


def test_json_of_tile_schedulers_has_a_row_for_each_layer(run):
    words = ["--layer", "P=8 C=16 K=8", "--scheduler", "static", "--arch", "flexer-arch5"]

    result = CliRunner().invoke(app, [*words, "--json"])

    assert result.exit_code == 0, result.output
    assert [row["scheduler"] for row in json.loads(result.stdout)] == ["static"]


def test_a_second_run_takes_the_mapping_from_the_cache(run, tmp_path):
    first = run("--layer", "P=8 C=16 K=8", "--csv", str(tmp_path / "1.csv"))
    run("--layer", "P=8 C=16 K=8", "--csv", str(tmp_path / "2.csv"))
    run("--layer", "P=8 C=16 K=8", "--csv", str(tmp_path / "3.csv"), "--no-cache")

    assert first.exit_code == 0
    assert list((tmp_path / "cache").rglob("*.json"))
    texts = [(tmp_path / f"{number}.csv").read_text() for number in (1, 2, 3)]
    assert texts[0] == texts[1] != texts[2]


def test_emitted_timeloop_files_are_read_back(run, tmp_path):
    result = run("--layer", "P=8 C=16 K=8", "--emit", "timeloop", str(tmp_path / "tl"))

    assert result.exit_code == 0, result.output
    (text,) = (path.read_text() for path in (tmp_path / "tl").rglob("mapping.yaml"))
    arch, work = load_architecture("simba.toml"), Workload(P=8, C=16, K=8)
    nest = read_mapping(text, work, arch)
    nest.verify(arch)
    assert evaluate(nest, arch).compute_cycles >= 1


@pytest.mark.parametrize("counting", ["accnn", "timeloop", "zigzag", "zigzag-sound"])
def test_every_counting_gives_figures(run, counting):
    result = run("--layer", "P=8 K=8", "--counting", counting)

    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give either --layer or --layers"),
        (["--layer", "P=8 X=1"], "cannot read 'X=1'"),
        (["--layer", "P=8 P=1"], "P is given twice"),
        (["--layer", "P=0"], "must be at least 1"),
        (["--layer", " "], "--layer: it is empty"),
        (["--layer", f"P={2**31}"], "must be at most 2147483647"),
        (["--layer", f"P=8 stride=1,{2**31}"], "stride is 1,2147483648, must be"),
        (["--layer", f"P=8 R=3 dilation={10**20}"], "must be at most 2147483647"),
        (["--layer", "P=2147483647 C=2147483646"], "no more than 9007199254740992 can be"),
        (["--layer", "P=8", "--seed", "-1"], "seed is -1"),
        (["--layer", "P=8", "--processes", "0"], "processes is 0"),
        (["--layer", "P=8", "--csv", "no/out.csv"], "cannot write no/out.csv: no is not a folder"),
        (["--layer", "P=8", "--emit", "timeloop", __file__], "it is not a folder"),
        (["--layers", "."], "cannot read .: Is a directory"),
        (["--layers", "/bin/sh"], "it is no CSV text"),
        (["--layer", "P=8,2"], "takes one number"),
        (["--layer", "P=8", "--mapper", "none"], "no mapper named 'none'"),
        (["--layer", "P=8", "--emit", "gem5", "x"], "knows no tool 'gem5'"),
        (["--layer", "P=8", "--emit", "timeloop"], "needs a tool and a folder"),
        (
            ["--layer", "P=8", "--mapper", "salsa", "--spatial", "P=8"],
            "--spatial: cannot read 'P=8'",
        ),
        (["--layer", "P=8", "--mapper", "loma", "--spatial", "P=8@moon"], "cannot read 'P=8@moon'"),
        (["--layers", "nowhere.csv"], "cannot read nowhere.csv"),
    ],
)
def test_bad_input_gets_one_message_and_exit_code_2(run, arguments, message):
    result = run(*arguments)

    assert result.exit_code == 2
    assert message in result.output


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LAYERS + "net,c,1,1,x,1,1,1,1,1,1\n", "layers.csv:4: P is 'x'"),
        (LAYERS + "net,c,1,1,7\n", "layers.csv:4: no value for Q, C, K"),
        (LAYERS.splitlines()[0] + "\n", "layers.csv: holds no layer"),
    ],
)
def test_a_malformed_file_is_refused_before_anything_is_written(run, tmp_path, text, message):
    (tmp_path / "layers.csv").write_text(text)
    out = tmp_path / "out.csv"

    result = run("--layers", str(tmp_path / "layers.csv"), "--csv", str(out))

    assert result.exit_code == 2
    assert message in result.output.replace("\n", "")
    assert not out.exists()


@pytest.mark.parametrize("mapper", ["salsa", "loma"])
def test_the_search_itself_goes_by_the_counting_that_is_shown(tmp_path, monkeypatch, mapper):
    monkeypatch.setenv("ACCNN_CACHE", str(tmp_path / "cache"))
    energies = {}
    for counting in ("zigzag", "zigzag-sound"):
        out = tmp_path / f"{counting}.csv"
        result = CliRunner().invoke(
            app,
            ["--layer", "R=3 S=3 P=28 Q=28 C=128 K=128", "--arch", "eyeriss.toml", "--mapper",
             mapper, "--objective", "energy", "--counting", counting, "--spatial",
             "P=14@column R=3@row K=4@row", "--csv", str(out)],
        )  # fmt: skip
        assert result.exit_code == 0, result.output
        (row,) = csv.DictReader(out.read_text().splitlines())
        energies[counting] = float(row["energy_pj"])

    if mapper == "salsa":
        assert energies["zigzag"] == pytest.approx(6.71159e8, rel=1e-6)
        assert energies["zigzag-sound"] == pytest.approx(6.83954e8, rel=1e-6)
    assert energies["zigzag"] <= energies["zigzag-sound"]


def test_strides_are_vertical_then_horizontal():
    assert parse_layer("R=3 P=4 stride=2,1").workload == Workload(R=3, P=4, stride=(2, 1))


def nest_of(text: str) -> str:
    return text[text.index("// dram") : text.index("\nlayer ")]


@pytest.mark.parametrize("layer", ["P=8 C=16 K=8", "R=3 S=3 P=16 Q=16 C=16 K=32 stride=2"])
def test_a_nest_that_went_to_timeloop_and_back_is_the_same(run, tmp_path, layer):
    out = tmp_path / "timeloop"
    words = ("--layer", layer, "--mapper", "output-stationary", "--emit", "timeloop", str(out))
    there = run(*words, "--json")
    (path,) = out.glob("*/mapping.yaml")
    back = run("--layer", layer, "--import", str(path), "--json")

    assert (there.exit_code, back.exit_code) == (0, 0), back.output
    (before,), (after,) = json.loads(there.stdout), json.loads(back.stdout)
    assert after.pop("mapper") == "imported"
    assert before.pop("mapper") == "output-stationary"
    for name in ("solve_seconds", "cpu_seconds"):
        del before[name], after[name]
    assert after == before
    shown = [run(*words), run("--layer", layer, "--import", str(path))]
    assert nest_of(shown[0].stdout) == nest_of(shown[1].stdout)


def test_even_nests_start_all_operands_of_a_level_at_one_loop(run):
    words = ("--layer", "R=3 S=3 P=28 Q=28 C=64 K=64", "--arch", "eyeriss", "--mapper", "salsa")
    uneven = run(*words, "--objective", "energy")
    even = run(*words, "--objective", "energy", "--even")

    assert (uneven.exit_code, even.exit_code) == (0, 0), even.output
    assert "@" in nest_of(uneven.stdout)
    assert "@" not in nest_of(even.stdout)


def test_levels_of_an_imported_mapping_may_have_other_names(run, tmp_path):
    words = ("--layer", "P=8 C=16 K=8")
    run(*words, "--mapper", "output-stationary", "--emit", "timeloop", str(tmp_path / "out"))
    (path,) = (tmp_path / "out").glob("*/mapping.yaml")
    path.write_text(path.read_text().replace("target: gb", "target: GlobalBuffer"))

    refused = run(*words, "--import", str(path))
    done = run(*words, "--import", str(path), "--rename", "GlobalBuffer=gb")

    assert refused.exit_code == 2
    assert "not a directive of a known level" in refused.stderr
    assert "levels of simba: dram, gb, ib, wb, ab, reg; --rename" in refused.stderr
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--import", "none.yaml"], "cannot read none.yaml: No such file"),
        (
            ["--import", "other.yaml"],
            "other.yaml: no nest of this layer: loops over P cover 1 of 8",
        ),
        (["--rename", "a=b"], "--rename has no effect without --import"),
        (["--import", "other.yaml", "--rename", "a"], "--rename: cannot read 'a'"),
        (["--import", "other.yaml", "--spatial", "P=2@lane"], "no effect with --import"),
        (["--spatial", "P=2@lane"], "--spatial has no effect with cosa, which chooses its own"),
        (["--mapper", "salsa,cosa", "--picture", "a.svg"], "--picture draws one nest"),
        (["--emit", "zigzak", "out"], "did you mean zigzag?"),
    ],
)
def test_what_cannot_be_done_with_a_nest_is_told(run, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.yaml").write_text("mapping:\n")

    done = run("--layer", "P=8 C=16 K=8", *words)

    assert done.exit_code == 2
    assert message in done.stderr


def test_files_of_somebody_else_are_kept(run, tmp_path):
    words = ("--layer", "P=8", "--mapper", "output-stationary", "--emit", "zigzag", str(tmp_path))
    assert run(*words).exit_code == 0
    assert run(*words).exit_code == 0
    path = tmp_path / "P=8.output-stationary" / "mapping.yaml"
    path.write_text("mine")

    done = run(*words)

    assert done.exit_code == 2
    assert "mapping.yaml: acc-map did not write it" in done.stderr
    assert path.read_text() == "mine"


def test_the_picture_of_a_nest(run, tmp_path):
    path = tmp_path / "nest.svg"

    done = run(
        "--layer", "P=8 C=16 K=8", "--mapper", "output-stationary", "--picture", str(path)
    )  # fmt: skip

    assert done.exit_code == 0, done.output
    root = ElementTree.fromstring(path.read_text())
    texts = ["".join(item.itertext()) for item in root.iter(f"{SVG}text")]
    assert texts[0] == "P=8 C=16 K=8 on simba, output-stationary"
    heads = [text.split()[0] for text in texts[1:] if "for " not in text]
    assert heads == ["dram", "gb", "pe", "ib", "lane", "wb", "ab", "mac", "reg", "MAC"]
    loops = sum(text.startswith(("for ", "parallel_for ")) for text in texts)
    assert loops == nest_of(done.stdout).count("for ")
    boxes = [
        [float(item.get(key, 0)) for key in ("x", "y", "width", "height")]
        for item in root.iter(f"{SVG}rect")
    ]
    for outer, inner in itertools.pairwise(boxes):
        assert outer[0] < inner[0]
        assert outer[1] < inner[1]
        assert inner[0] + inner[2] < outer[0] + outer[2]
        assert inner[1] + inner[3] <= outer[1] + outer[3]


def test_columns_that_say_nothing_are_named(run, tmp_path, caplog):
    (tmp_path / "layers.csv").write_text("R,S,P,Q,C,K,color\n1,1,2,2,4,4,red\n")

    done = run("--layers", str(tmp_path / "layers.csv"), "--mapper", "output-stationary")

    assert done.exit_code == 0
    assert "layers.csv: columns that say nothing here: color" in caplog.text


def test_network_timing_stands_beside_the_analytical_one(run, tmp_path):
    out = tmp_path / "out.csv"
    layer = ("--layer", "P=8 C=16 K=8", "--mapper", "output-stationary", "--csv", str(out))

    plain, timed = run(*layer), run(*layer, "--timing", "network")

    assert plain.exit_code == timed.exit_code == 0, timed.output
    assert "network" in timed.output
    assert "network" not in plain.output
    (row,) = csv.DictReader(out.read_text().splitlines())
    assert int(row["network_cycles"]) > float(row["cycles"])  # of so small a layer
    assert float(row["network_estimate"]) >= float(row["cycles"])
    assert row["network_waits"].startswith("W ")


def test_network_timing_needs_a_network(run, tmp_path):
    layer = ("--layer", "P=8 C=16 K=8", "--timing", "network")

    result = CliRunner().invoke(app, [*layer, "--arch", "eyeriss"])
    useless = run(*layer, "--scheduler", "static")

    assert result.exit_code != 0
    assert "eyeriss has no network" in result.output
    assert "no effect with --scheduler" in useless.output
