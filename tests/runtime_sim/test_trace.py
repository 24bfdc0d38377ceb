"""Arrows of a trace: from what retired last to what waited for it, and from nothing else."""

import io
import json
from itertools import pairwise

import pytest

from accnn.compiler.driver import compile, run_program
from accnn.compiler.execute import QUICK
from accnn.compiler.verification.verify import verification_inputs
from accnn.ir.isa.instructions import Copy, Space, Sync, Wait
from accnn.runtime_sim.simulate import simulate
from accnn.runtime_sim.trace import HeldUp, held_up, write_trace
from tests.onnx_rows import convolutions_in_a_row
from tests.programs import at, program


def copied(*waits: Wait, dst: Space = Space.GB, src: Space = Space.DRAM) -> Copy:
    return Copy(dst=at(dst, 0, 1), src=at(src, 0, 1), shape=(16,), element_bytes=1, waits=waits)


def run(queues):
    return simulate(program(queues), {}, {}, trace=True, detect_races=False)


def held(result) -> list[HeldUp]:
    return list(held_up(result.program, result.timelines))


def on_chip(*waits: Wait) -> Copy:
    return copied(*waits, dst=Space.WB, src=Space.GB)


def test_what_waits_for_another_queue_is_held_up_by_it() -> None:
    """The load begins when the second copy has retired; the next one only when the load has."""
    result = run({"dma0": [copied(), copied()], "ld0": [on_chip(Wait(0, 2)), on_chip(Wait(0, 1))]})

    assert held(result) == [HeldUp(1, 0, (0, 1))]


def test_what_only_waits_holds_up_the_next_one() -> None:
    result = run({"dma0": [copied()], "ld0": [Sync(waits=(Wait(0, 1),)), on_chip()]})

    assert held(result) == [HeldUp(1, 1, (0, 0))]


def test_who_waits_for_none_has_no_arrow() -> None:
    assert held(run({"dma0": [copied(), copied()], "ld0": [on_chip()]})) == []


@pytest.fixture(scope="module")
def events():
    """Return the events of a compiled network's trace."""
    model = convolutions_in_a_row((8, 16, 3, 1), (16, 32, 1, 1))
    found = compile(model, arch="simba", options=QUICK)
    inputs = verification_inputs(found.network.model, 0, None)
    result = run_program(found.module, inputs, found.network.imported.input_names, found.options)
    file = io.StringIO()
    write_trace(result, file)
    return json.loads(file.getvalue())["traceEvents"]


def test_arrows_begin_and_end_in_slices_and_point_forward(events) -> None:
    slices = [item for item in events if item["ph"] == "X"]
    begins = {item["id"]: item for item in events if item["ph"] == "s"}
    ends = {item["id"]: item for item in events if item["ph"] == "f"}

    assert begins and begins.keys() == ends.keys()
    for number, begin in begins.items():
        end = ends[number]
        assert begin["tid"] != end["tid"] and begin["ts"] <= end["ts"]
        assert any(
            item["tid"] == begin["tid"] and item["ts"] <= begin["ts"] <= item["ts"] + item["dur"]
            for item in slices
        )
        assert any(item["tid"] == end["tid"] and item["ts"] == end["ts"] for item in slices)


def test_slices_of_a_track_follow_each_other(events) -> None:
    tracks = {item["tid"] for item in events if item["ph"] == "X"}

    for track in tracks:
        own = [item for item in events if item["ph"] == "X" and item["tid"] == track]
        assert all(one["ts"] + one["dur"] <= two["ts"] for one, two in pairwise(own))
