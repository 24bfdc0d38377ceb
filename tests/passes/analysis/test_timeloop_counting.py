import re
from dataclasses import replace
from pathlib import Path

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.errors import OptionError, ParseError
from accnn.ir.mapping import Loop
from accnn.ir.workload import Dim, Operand, Workload
from accnn.passes.analysis.cost import Counting, evaluate
from accnn.passes.analysis.sliding import fetched_elements
from accnn.passes.analysis.traffic import Direction
from accnn.passes.mapping.base import MapOptions
from accnn.passes.mapping.cosa.mapper import Cosa
from accnn.passes.mapping.timeloop import read_mapping, write_mapping, write_problem

DATA = Path(__file__).parents[2] / "data" / "timeloop"
NAMES = {
    "Registers": "reg",
    "AccumulationBuffer": "ab",
    "WeightBuffer": "wb",
    "InputBuffer": "ib",
    "GlobalBuffer": "gb",
    "DRAM": "dram",
}
SPACES = {"Weights": Operand.W, "Inputs": Operand.I, "Outputs": Operand.O}
WORK = Workload(R=3, S=3, P=56, Q=56, C=64, K=64)


def example():
    arch = load_architecture("simba.toml")
    return read_mapping((DATA / "mapping.yaml").read_text(), WORK, arch, NAMES), arch


def figures():
    """Per level and tensor: instances, reads, updates, fills of Timeloop's statistics."""
    found = {}
    level = space = None
    for line in (DATA / "example.stats.txt").read_text().splitlines():
        if match := re.match(r"=== (\w+) ===", line):
            level, space = NAMES.get(match[1]), None
        elif "Buffer <==>" in line or line.startswith("Operational"):
            level = None
        elif match := re.match(r"    (Weights|Inputs|Outputs):", line):
            space = SPACES[match[1]]
        elif level and space and (match := re.match(r"\s+Utilized instances.*: (\d+)", line)):
            found.setdefault((level, space), {})["instances"] = int(match[1])
        elif level and space and (match := re.match(r"\s+Scalar (\w+) .*: (\d+)", line)):
            found[level, space][match[1]] = int(match[2])
    return found


def test_accesses_of_every_level_equal_timeloops():
    nest, arch = example()
    cost = evaluate(nest, arch, counting=Counting.TIMELOOP)
    compared = 0

    for (level, operand), figure in figures().items():
        read = cost.accesses(level, operand, Direction.READ)
        write = cost.accesses(level, operand, Direction.WRITE)
        ours = (read.elements if read else 0) + (write.elements if write else 0)
        theirs = figure["reads"] + figure["updates"] + figure["fills"]
        assert ours == figure["instances"] * theirs, (level, operand)
        compared += 1

    assert compared == 9


def test_sliding_windows_are_what_differs_from_our_own_counting():
    nest, arch = example()

    slid = evaluate(nest, arch, counting=Counting.TIMELOOP)
    whole = evaluate(nest, arch)

    # 14 tiles of 6 rows overlap by 2 each: 58 rows instead of 84.
    read = (Operand.I, Direction.READ)
    assert slid.accesses("dram", *read).elements == 58 * 58 * 64
    assert whole.accesses("dram", *read).elements == 84 * 58 * 64
    assert slid.accesses("gb", *read) == whole.accesses("gb", *read)


def test_cycles_equal_timeloops_where_its_input_port_is_as_wide():
    nest, arch = example()

    cost = evaluate(nest, arch, counting=Counting.TIMELOOP)

    # Timeloop's input buffer reads 64 byte per cycle in this example, ours 8.
    others = [port.cycles for port in cost.ports if port.name != "ib.read"]
    assert max([cost.compute_cycles, *others]) == 112_896


def test_mappings_survive_a_round_trip():
    arch = load_architecture("simba.toml")
    nest, _ = example()

    again = read_mapping(write_mapping(nest, arch), WORK, arch)

    assert sorted(again.spatial, key=str) == sorted(nest.spatial, key=str)
    assert again.temporal == nest.temporal
    assert again.allocations == nest.allocations


def test_a_mapping_that_was_found_is_written_as_timeloop_reads_it():
    arch = load_architecture("simba.toml")
    work = Workload(P=16, C=64, K=64)
    found = Cosa().map(work, arch, options=MapOptions(even=True)).nest

    again = read_mapping(write_mapping(found, arch), work, arch)

    assert evaluate(again, arch) == evaluate(found, arch)


def test_uneven_nests_and_groups_are_refused():
    arch = load_architecture("simba.toml")
    nest, _ = example()
    uneven = replace(
        nest,
        allocations=tuple(
            replace(item, start=0) if (item.operand, item.level) == (Operand.O, "gb") else item
            for item in nest.allocations
        ),
    )

    with pytest.raises(OptionError, match="different loops of gb"):
        write_mapping(uneven, arch)
    with pytest.raises(OptionError, match="no groups"):
        write_problem(Workload(G=4))


def test_an_unknown_level_is_named_with_its_line():
    with pytest.raises(ParseError, match="mapping:2:1: not a directive"):
        read_mapping("mapping:\n - { target: l9, type: temporal, }", WORK, example()[1])


def test_problem_file_has_timeloops_names():
    assert write_problem(WORK) == (DATA / "problem.yaml").read_text()


@pytest.mark.parametrize(
    "loops", [[("P", 3), ("R", 2)], [("R", 2), ("P", 3)], [("K", 2), ("Q", 2)]]
)
def test_fetched_elements_equal_a_walk_over_all_tiles(loops):
    work = Workload(R=6, S=2, P=6, Q=8, C=2, stride=(2, 1), dilation=(1, 2))
    outer = [Loop(Dim(dim), extent) for dim, extent in loops]
    tile = {**dict.fromkeys(Dim, 1), Dim.P: 2, Dim.R: 3, Dim.Q: 4, Dim.S: 2, Dim.C: 2}

    reached = dict(tile)
    steps = []
    for loop in reversed(outer):
        steps.insert(0, reached[loop.dim])
        reached[loop.dim] *= loop.extent

    walked, before = 0, set()
    for now in walk(outer):
        base = dict.fromkeys(Dim, 0)
        for loop, step, at in zip(outer, steps, now, strict=True):
            base[loop.dim] += at * step
        lines = {
            ((base[Dim.P] + p) * 2 + base[Dim.R] + r, base[Dim.Q] + q + 2 * (base[Dim.S] + s), c)
            for p in range(2)
            for r in range(3)
            for q in range(4)
            for s in range(2)
            for c in range(2)
        }
        walked += len(lines - before)
        before = lines

    assert fetched_elements(work, outer, steps, tile) == walked


def walk(outer):
    if not outer:
        yield ()
        return
    for at in range(outer[0].extent):
        for rest in walk(outer[1:]):
            yield (at, *rest)
