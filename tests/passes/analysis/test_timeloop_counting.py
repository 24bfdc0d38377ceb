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
from accnn.passes.mapping.problem import MappingProblem
from accnn.passes.mapping.recipes.cosa import Cosa
from accnn.passes.mapping.timeloop import (
    read_mapping,
    write_arch,
    write_mapping,
    write_problem,
)

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
        elif level and space and (match := re.match(r"\s+Utilized capacity +: (\d+)", line)):
            found.setdefault((level, space), {})["capacity"] = int(match[1])
        elif level and space and (match := re.match(r"\s+Energy \(total\) +: ([\d.]+)", line)):
            found[level, space]["energy"] = float(match[1])
    return found


def bandwidths():
    """Per level: bandwidths of Timeloop's statistics [word/cycle], absent where unbounded."""
    found = {}
    level = None
    for line in (DATA / "example.stats.txt").read_text().splitlines():
        if match := re.match(r"=== (\w+) ===", line):
            level = NAMES.get(match[1])
        elif "Buffer <==>" in line:
            level = None
        elif level and (match := re.match(r"\s+(\w+) bandwidth +: ([\d.]+)$", line)):
            found.setdefault(level, {})[match[1]] = float(match[2])
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


def test_energies_of_every_level_equal_timeloops():
    nest, arch = example()
    cost = evaluate(nest, arch, counting=Counting.TIMELOOP)

    for (level, operand), figure in figures().items():
        own = arch.level(level)
        read = cost.accesses(level, operand, Direction.READ)
        write = cost.accesses(level, operand, Direction.WRITE)
        energy = (read.bits * own.read_energy if read else 0.0) / own.word_bits
        energy += (write.bits * own.write_energy if write else 0.0) / own.word_bits
        assert energy == pytest.approx(figure["energy"], rel=1e-12), (level, operand)

    macs = 28_901_376.00
    whole = macs + sum(figure["energy"] for figure in figures().values())
    assert cost.energy_pj == pytest.approx(whole, rel=1e-12)
    assert round(cost.energy_pj / 1e6, 2) == 107.24


def test_capacities_taken_equal_timeloops():
    nest, arch = example()

    for (level, operand), figure in figures().items():
        taken = dict(nest.bytes_at(arch, level))[operand]
        entry = 3 if level == "ab" else 1
        assert taken == entry * figure["capacity"], (level, operand)


def test_cycles_equal_timeloops_with_the_bandwidths_of_its_statistics():
    nest, arch = example()
    theirs = bandwidths()
    assert theirs == {
        "ib": {"Read": 64.0, "Write": 8.0},
        "gb": {"Read": 8.0, "Write": 8.0},
        "dram": {"Shared": 20.0},
    }
    levels = tuple(
        replace(
            level,
            read_bandwidth=theirs.get(level.name, {}).get(
                "Shared" if level.shared_port else "Read"
            ),
            write_bandwidth=theirs.get(level.name, {}).get("Write"),
        )
        for level in arch.levels
    )

    cost = evaluate(nest, replace(arch, levels=levels), counting=Counting.TIMELOOP)

    assert cost.cycles == 112_896


def test_our_narrower_input_port_is_what_takes_longer():
    nest, arch = example()

    cost = evaluate(nest, arch, counting=Counting.TIMELOOP)

    others = [port.cycles for port in cost.ports if port.name != "ib.read"]
    assert max([cost.compute_cycles, *others]) == 112_896 < cost.cycles


def test_an_architecture_file_has_the_keys_of_the_format_and_the_shared_bandwidth():
    text = write_arch(load_architecture("simba.toml"))
    given = (DATA / "simba_repo.yaml").read_text()
    keys = {match[1] for match in re.finditer(r"^ +-? *([\w-]+):", given, re.MULTILINE)}

    written = {match[1] for match in re.finditer(r"^ +-? *([\w-]+):", text, re.MULTILINE)}

    assert written <= keys | {"read_bandwidth", "write_bandwidth"}
    assert text.rstrip().endswith("bandwidth: 20.0")
    assert "shared_bandwidth" not in text


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
    found = Cosa().map(MappingProblem(workload=work, arch=arch, even=True)).nest

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
