import json
import os

import numpy as np
import pytest
from typer.testing import CliRunner

from accnn.backend.package import save_package
from accnn.compiler.cli.acc_run import app

from ...programs import convolution, convolution_reference, without_wait


@pytest.fixture
def folder(tmp_path):
    built, constants, inputs = convolution(2)
    save_package(tmp_path / "program.acc", built, constants, names=[("in/x", "x"), ("file", "y")])
    save_package(tmp_path / "racy.acc", without_wait(built, 2, 0, 0), constants)
    np.savez(tmp_path / "in.npz", **{"in/x": inputs["x"]})
    np.savez(tmp_path / "plain.npz", **inputs)
    np.savez(tmp_path / "wrong.npz", **{"in/x": inputs["x"].astype(np.float32)})
    np.savez(tmp_path / "other.npz", image=inputs["x"])
    np.savez(tmp_path / "objects.npz", **{"in/x": np.array([{}], object)})
    os.mkfifo(tmp_path / "pipe.acc")
    np.save(tmp_path / "array.npy", inputs["x"])
    return tmp_path, convolution_reference(constants, inputs)


def run(folder, *arguments):
    words = [str(folder / word) if "." in word else word for word in arguments]
    return CliRunner().invoke(app, words)


def test_outputs_equal_the_reference(folder):
    path, expected = folder

    result = run(path, "program.acc", "--input", "in.npz", "--output", "out.npz", "--races")

    assert result.exit_code == 0, result.output
    assert "toy program on toy: " in result.output
    with np.load(path / "out.npz") as archive:
        assert archive.files == ["file"]
        np.testing.assert_array_equal(archive["file"], expected)


def test_the_trace_is_json_with_one_track_per_queue(folder):
    path, _ = folder

    result = run(path, "program.acc", "-i", "in.npz", "-o", "out.npz", "--trace", "t.json")

    assert result.exit_code == 0, result.output
    events = json.loads((path / "t.json").read_text())["traceEvents"]
    tracks = [event["args"]["name"] for event in events if event["name"] == "thread_name"]
    assert tracks == ["dma0", "ld0", "mx0", "vx0"]
    slices = [event for event in events if event["ph"] == "X"]
    assert {event["name"] for event in slices} == {"conv"}
    assert [event["dur"] for event in slices if event["cat"] == "mac"] == [3240, 3240]


@pytest.mark.parametrize(
    ("package", "inputs", "message"),
    [
        ("nothing.acc", "in.npz", "cannot read"),
        ("in.npz", "in.npz", "is not a package"),
        ("program.acc", "nothing.npz", "nothing.npz: No such file"),
        ("pipe.acc", "in.npz", "pipe.acc is not a file"),
        ("program.acc", "pipe.acc", "pipe.acc is not a file"),
        ("program.acc", "program.acc", "not an .npz file"),
        ("program.acc", "array.npy", "array.npy is not an .npz file"),
        ("program.acc", "objects.npz", "not an .npz file of plain arrays"),
        ("program.acc", "other.npz", "has no input 'image'\n  hint: inputs: in/x"),
        ("program.acc", "wrong.npz", "input 'x' is float32"),
    ],
)
def test_bad_input_is_one_clear_message(folder, package, inputs, message):
    path, _ = folder
    before = sorted(path.iterdir())

    result = run(path, package, "--input", inputs, "--output", "out.npz")

    assert result.exit_code == 2
    assert result.output.startswith("acc-run: error: ")
    assert message in result.output
    assert sorted(path.iterdir()) == before


def test_a_race_ends_the_run(folder):
    path, _ = folder

    result = run(path, "racy.acc", "-i", "plain.npz", "-o", "out.npz")

    assert result.exit_code == 1
    assert "race on byte" in result.output
    assert not (path / "out.npz").exists()


def test_without_looking_for_races_it_does_not(folder):
    path, _ = folder

    result = run(path, "racy.acc", "-i", "plain.npz", "-o", "racy.npz", "--no-races")

    assert result.exit_code == 0
    (path / "racy.npz").unlink()


def test_outputs_go_to_devices(folder):
    path, _ = folder
    (path / "null.npz").symlink_to(os.devnull)

    result = run(path, "program.acc", "-i", "in.npz", "-o", "null.npz")

    assert result.exit_code == 0, result.output
    assert (path / "null.npz").is_symlink()


def test_two_results_need_two_files(folder):
    path, _ = folder

    result = run(path, "program.acc", "-i", "in.npz", "-o", "out.npz", "--trace", "out.npz")

    assert result.exit_code == 2
    assert "are the same file" in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-o", "in.npz"), "--output would replace --input: "),
        (("-o", "program.acc"), "--output would replace PROGRAM: "),
        (("-o", "link.npz"), "--output would replace --input: "),
        (("-o", "out.npz", "--trace", "in.npz"), "--trace would replace --input: "),
        (("-o", "out.npz", "--trace", "program.acc"), "--trace would replace PROGRAM: "),
    ],
)
def test_what_is_read_is_not_replaced(folder, arguments, message):
    path, _ = folder
    (path / "link.npz").symlink_to(path / "in.npz")
    before = {name: (path / name).read_bytes() for name in ("in.npz", "program.acc")}

    result = run(path, "program.acc", "-i", "in.npz", *arguments)

    assert result.exit_code == 2
    assert message in result.output
    assert {name: (path / name).read_bytes() for name in before} == before


def test_nothing_is_written_where_the_trace_cannot_be(folder):
    path, _ = folder

    result = run(path, "program.acc", "-i", "in.npz", "-o", "out.npz", "--trace", "no/t.json")

    assert result.exit_code == 2
    assert not (path / "out.npz").exists()


def test_timing_over_a_mesh_needs_one(folder):
    """That it works where there is one is shown by test_acc_compile.py."""
    path, _ = folder

    result = run(path, "program.acc", "-i", "in.npz", "-o", "out.npz", "--timing", "network")

    assert result.exit_code == 2
    assert "toy has no network" in result.output
    assert not (path / "out.npz").exists()
