import pytest
from typer.testing import CliRunner

from accnn.backend.load import load_architecture
from accnn.compiler.cli.acc_map import app
from accnn.compiler.layers.emit import folder_names, write_timeloop
from accnn.ir.errors import OptionError
from accnn.ir.workload import Workload
from accnn.passes.mapping.recipes.output_stationary import map_output_stationary

HEADING = "dnn,layer,R,S,P,Q,C,K\n"


def test_plain_names_stay_as_they_are():
    names = ("conv1.cosa", "R=3_S=3.random", "block-2_b.salsa")

    assert folder_names(names) == names


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("../x", "_x"),
        ("a/b", "a_b"),
        ("/etc/passwd", "_etc_passwd"),
        ("..", "layer"),
        ("", "layer"),
        ("...", "layer"),
        (".hidden", "hidden"),
        ("-rf", "rf"),
        ("a\\b:c*d", "a_b_c_d"),
        ("nul\0l", "nul_l"),
        ("Größe 1", "Gr__e_1"),
        ("x" * 5000, "x" * 100),
    ],
)
def test_no_name_leads_out_of_its_parent(name, folder):
    assert folder_names([name]) == (folder,)


def test_names_that_would_be_alike_are_numbered():
    assert folder_names(["a/b", "a_b", "A_B", "a_b-2", ""]) == (
        "a_b",
        "a_b-2",
        "A_B-3",
        "a_b-2-2",
        "layer",
    )


def test_layers_of_any_name_are_emitted_into_the_folder_and_nowhere_else(tmp_path, monkeypatch):
    monkeypatch.setenv("ACCNN_CACHE", str(tmp_path / "cache"))
    layers, out = tmp_path / "layers.csv", tmp_path / "deep" / "out"
    names = ["../../x,y", "net,a/b", "net,a/b", f"{tmp_path}/absolute,z"]
    layers.write_text(HEADING + "".join(f"{name},1,1,4,1,8,8\n" for name in names))

    result = CliRunner().invoke(
        app,
        ["--layers", str(layers), "--arch", "simba.toml", "--mapper", "output-stationary",
         "--emit", "timeloop", str(out)],
    )  # fmt: skip

    assert result.exit_code == 0, result.output
    assert len(list(out.iterdir())) == 4
    written = set(tmp_path.rglob("*.yaml"))
    assert len(written) == 12
    assert all(path.parent.parent == out for path in written)


def test_a_kernel_is_emitted_and_replaced_where_it_is_ours(tmp_path, monkeypatch):
    monkeypatch.setenv("ACCNN_CACHE", str(tmp_path / "cache"))
    line = ["--layer", "P=4 C=8 K=8", "--arch", "gpu-k80", "--mapper", "output-stationary"]
    line += ["--emit", "cuda", str(tmp_path / "out")]
    runs = [CliRunner().invoke(app, line) for _ in range(2)]

    assert [run.exit_code for run in runs] == [0, 0], runs[1].output
    (kernel,) = (tmp_path / "out").rglob("*.cu")
    assert kernel.read_text().startswith("// Written by acc-map.\n// P=4 C=8 K=8 on gpu-k80\n")
    assert "KERNEL layer(" in kernel.read_text()
    kernel.write_text("mine")
    refused = CliRunner().invoke(app, line)
    assert refused.exit_code != 0
    assert kernel.read_text() == "mine"


def test_a_machine_without_threads_has_no_kernel(tmp_path):
    line = ["--layer", "P=4 C=8 K=8", "--arch", "simba", "--mapper", "output-stationary"]
    refused = CliRunner().invoke(app, [*line, "--no-cache", "--emit", "cuda", str(tmp_path)])

    assert refused.exit_code != 0
    assert "no block of threads" in " ".join(refused.output.split())


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    arch = load_architecture("simba.toml")
    nest = map_output_stationary(Workload(P=4, C=8, K=8), arch).nest
    (tmp_path / "file").write_text("")

    with pytest.raises(OptionError, match="cannot write"):
        write_timeloop(tmp_path / "file" / "x", nest, arch)
