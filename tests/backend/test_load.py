import hashlib
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accnn.backend.arch_tables import dump_architecture
from accnn.backend.load import (
    catalogue,
    find_source,
    load_architecture,
    parse_architecture,
)
from accnn.ir.arch import Architecture, Dma, FanoutGroup, Npu, Precision, VectorUnit
from accnn.ir.errors import ArchitectureError
from accnn.ir.isa.instructions import Space
from accnn.ir.isa.spaces import space_bytes
from accnn.ir.workload import Dim, Operand

TINY = """\
name = "tiny"
description = "Two MACs"
scratchpad = "gb"

[[level]]
name = "dram"
holds = ["W", "I", "O"]

[[level]]
name = "gb"
holds = ["W", "I", "O"]
capacity = 64

[[fanout]]
name = "mac"
below = "gb"
size = 2
"""

NAMES = [entry.name for entry in catalogue()]


def message(text: str) -> str:
    with pytest.raises(ArchitectureError) as caught:
        parse_architecture(text, file="tiny.toml")
    return str(caught.value)


def with_line(after: str, line: str) -> str:
    assert TINY.count(after) == 1
    return TINY.replace(after, f"{after}\n{line}")


def test_absent_keys_take_the_defaults_of_the_value() -> None:
    arch = parse_architecture(TINY)

    assert arch.fanout("mac").dims == tuple(Dim)
    assert arch.fanout("mac").multicast == (Operand.W, Operand.I)
    assert arch.npus == (Npu(name="npu0"),)
    assert arch.vector == VectorUnit()
    assert arch.dma == Dma()
    assert arch.accumulator_bits == 32
    assert arch.level("dram").capacity is None


class TestCatalogue:
    @pytest.mark.parametrize("name", NAMES)
    def test_every_entry_loads_under_its_file_name(self, name: str) -> None:
        assert load_architecture(name).name == name

    @pytest.mark.parametrize("name", NAMES)
    def test_dump_loads_back(self, name: str) -> None:
        arch = load_architecture(name)

        assert parse_architecture(dump_architecture(arch)) == arch

    @pytest.mark.parametrize("name", NAMES)
    def test_every_number_carries_its_source(self, name: str) -> None:
        lines = find_source(name).text.splitlines()
        tags = {line[2:].split("]")[0] + "]" for line in lines if line.startswith("# [")}
        numbers = [line for line in lines if re.match(r"[a-z_]+ = [0-9]", line)]

        assert numbers
        assert [line for line in numbers if not any(tag in line for tag in tags)] == []

    def test_descriptions_fit_one_line(self) -> None:
        assert all(0 < len(entry.description) <= 80 for entry in catalogue())
        assert all("\n" not in entry.description for entry in catalogue())

    def test_all_that_is_promised_is_there(self) -> None:
        flexer = {f"flexer-arch{index}" for index in range(1, 9)}
        others = {"simba", "simba-8x8", "simba-large-buffers", "simba-lpddr4", "eyeriss"}
        others |= {"edge-1m", "edge-fp32"}

        assert flexer | others <= set(NAMES)


class TestSimba:
    """CoSA, ISCA 2021, Table V."""

    arch = load_architecture("simba.toml")

    def test_array(self) -> None:
        assert self.arch.macs == 1024
        assert self.arch.instances("ib") == 16
        assert self.arch.instances("ab") == self.arch.instances("wb") == 128
        assert self.arch.instances("reg") == 1024

    @pytest.mark.parametrize(
        ("level", "per_pe", "usable"),
        [("gb", 131072, 65536), ("ib", 8192, 4096), ("wb", 32768, 2048), ("ab", 3072, 192)],
    )
    def test_buffers(self, level: str, per_pe: int, usable: int) -> None:
        memory = self.arch.level(level)
        instances = max(1, self.arch.instances(level) // 16)

        assert (memory.capacity or 0) * instances == per_pe
        assert memory.usable == usable

    def test_registers_hold_one_weight_per_mac(self) -> None:
        assert self.arch.level("reg").usable == 1
        assert self.arch.accumulator_bits == 24

    def test_8x8_has_four_times_the_pes_and_twice_the_bandwidth(self) -> None:
        larger = load_architecture("simba-8x8")

        assert larger.macs == 4 * self.arch.macs
        for name in ("dram", "gb"):
            assert larger.level(name).read_bandwidth == 2 * (
                self.arch.level(name).read_bandwidth or 0
            )
        assert larger.fanout("pe").link_bandwidth == 2 * (
            self.arch.fanout("pe").link_bandwidth or 0
        )

    def test_lpddr4_changes_the_memory_behind_it_and_nothing_else(self) -> None:
        other = load_architecture("simba-lpddr4")
        assert other.dram is not None and self.arch.dram is not None

        assert (
            replace(
                other,
                name=self.arch.name,
                levels=(self.arch.off_chip, *other.levels[1:]),
                dram=self.arch.dram,
            )
            == self.arch
        )
        rate = other.dram.burst_bytes / other.dram.burst_ns
        assert other.off_chip.read_bandwidth == pytest.approx(rate, rel=0.03)

    def test_large_buffers_scale_as_in_the_paper(self) -> None:
        larger = load_architecture("simba-large-buffers")
        factors = {
            name: (larger.level(name).capacity or 0) / (self.arch.level(name).capacity or 1)
            for name in ("gb", "ib", "wb", "ab", "reg")
        }

        assert factors == {"gb": 8, "ib": 2, "wb": 2, "ab": 2, "reg": 1}
        assert larger.fanouts == self.arch.fanouts


@pytest.mark.parametrize(
    ("index", "npus", "kilobytes", "bandwidth"),
    [
        (1, 2, 256, 32),
        (2, 2, 256, 64),
        (3, 2, 512, 32),
        (4, 2, 512, 64),
        (5, 4, 256, 32),
        (6, 4, 256, 64),
        (7, 4, 512, 32),
        (8, 4, 512, 64),
    ],
)
def test_flexer_table_1(index: int, npus: int, kilobytes: int, bandwidth: int) -> None:
    arch = load_architecture(f"flexer-arch{index}")

    assert len(arch.npus) == npus
    assert arch.macs == 32 * 32
    assert arch.scratchpad_level.capacity == kilobytes * 1024
    assert arch.off_chip.read_bandwidth == bandwidth
    assert arch.clock_hz == 1e9


def test_edge_machines_differ_in_precision() -> None:
    assert load_architecture("edge-1m").precision is Precision.INT8
    assert load_architecture("edge-fp32").precision is Precision.FP32
    assert load_architecture("edge-1m").scratchpad_level.usable == 2**20


def test_a_gpu_block_is_limited_by_the_product_of_its_sides() -> None:
    arch = load_architecture("gpu-k80")

    assert arch.macs == 1024
    assert arch.instances("reg") == 1024
    assert arch.instances("smem") == 1
    assert space_bytes(arch)[Space.AB] == 64 * 1024  # [CoSA] registers of a block


class TestLookup:
    def test_with_and_without_suffix(self) -> None:
        assert load_architecture("simba") == load_architecture("simba.toml")

    def test_working_folder_comes_before_the_catalogue(self, tmp_path: Path) -> None:
        (tmp_path / "simba.toml").write_text(TINY)

        assert load_architecture("simba", search=(tmp_path,)).name == "tiny"
        assert load_architecture("simba", search=()).name == "simba"

    def test_a_folder_of_the_name_is_no_file(self, tmp_path: Path) -> None:
        (tmp_path / "simba").mkdir()

        assert load_architecture("simba", search=(tmp_path,)).name == "simba"

    def test_a_path(self, tmp_path: Path) -> None:
        path = tmp_path / "mine.toml"
        path.write_text(TINY)

        assert load_architecture(str(path), search=()).name == "tiny"

    def test_digest_is_that_of_the_text(self, tmp_path: Path) -> None:
        (tmp_path / "mine.toml").write_text(TINY)
        source = find_source("mine", search=(tmp_path,))

        assert source.text == TINY
        assert source.sha256 == hashlib.sha256(TINY.encode()).hexdigest()

    def test_a_missing_file_suggests_a_close_name(self) -> None:
        with pytest.raises(ArchitectureError, match="no architecture file 'simbaa'") as caught:
            load_architecture("simbaa")

        assert caught.value.hint == "did you mean 'simba'?"
        assert caught.value.exit_code == 2

    def test_a_folder_is_not_a_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(ArchitectureError, match="is a folder, not a .toml file"):
            find_source(tmp_path.name, search=(tmp_path.parent,))

    def test_a_missing_file_lists_the_catalogue(self) -> None:
        with pytest.raises(ArchitectureError, match="catalogue has: edge-1m"):
            load_architecture("zzzzzzzz")

    def test_a_binary_file(self, tmp_path: Path) -> None:
        (tmp_path / "mine.toml").write_bytes(b"\xff\xfe\x00")

        with pytest.raises(ArchitectureError, match=r"mine\.toml: not UTF-8 text"):
            load_architecture("mine", search=(tmp_path,))


class TestMessages:
    def test_not_toml(self) -> None:
        assert message("name = ").startswith("tiny.toml: not TOML: ")
        twice = message("[npus]\ncount = 1\n[npus]\n[a.b]")
        assert twice.startswith("tiny.toml: not TOML: Cannot declare npus twice (at line 3")
        assert "line 2" in message('name = "x"\nlevel = = 3\n')

    def test_missing_key(self) -> None:
        assert (
            message(TINY.replace('scratchpad = "gb"\n', "")) == "tiny.toml: scratchpad is missing"
        )

    def test_missing_key_of_a_level(self) -> None:
        text = TINY.replace('name = "gb"\n', "")

        assert message(text) == "tiny.toml: level[1].name is missing"

    def test_unknown_key(self) -> None:
        found = message(with_line("capacity = 64", "read_bandwith = 8"))

        assert found.startswith(
            "tiny.toml: level.gb.read_bandwith = 8: unknown key; allowed: name,"
        )
        assert found.endswith("hint: did you mean 'read_bandwidth'?")

    @pytest.mark.parametrize("bad", ["g b", "2gb", "gb-1"])
    @pytest.mark.parametrize(("table", "old"), [("level", "gb"), ("fanout", "mac")])
    def test_names_are_those_of_programs(self, table: str, old: str, bad: str) -> None:
        assert f'name = "{old}"' in TINY

        found = message(TINY.replace(f'"{old}"', f'"{bad}"'))

        assert found.startswith(f'tiny.toml: {table}.{bad}.name = "{bad}": must match pattern')

    def test_unknown_table(self) -> None:
        found = message(TINY + "\n[[fan_out]]\nname = 'x'\n")

        assert "tiny.toml: fan_out = [{'name': 'x'}]: unknown key" in found
        assert "did you mean 'fanout'?" in found

    @pytest.mark.parametrize(
        ("old", "new", "expected"),
        [
            (
                "capacity = 64",
                'capacity = "64"',
                'level.gb.capacity = "64": must be a valid integer',
            ),
            ("capacity = 64", "capacity = 6.5", "level.gb.capacity = 6.5: must be a valid integer"),
            (
                "capacity = 64",
                "capacity = true",
                "level.gb.capacity = true: must be a valid integer",
            ),
            ("capacity = 64", "capacity = -1", "capacity = -1: must be greater than or equal to 1"),
            ("size = 2", "size = 0", "fanout.mac.size = 0: must be greater than or equal to 1"),
            ("size = 2", 'size = 2\ndims = ["M"]', "fanout.mac.dims[0] = \"M\": must be 'R', 'S',"),
            (
                "size = 2",
                'size = 2\ndims = ["R", "R"]',
                "dims = ['R', 'R']: must not name anything twice",
            ),
            (
                "size = 2",
                "size = 2\nlink_bandwidth = 0",
                "link_bandwidth = 0: must be greater than or equal to 0.000001",
            ),
            ("size = 2", "size = 2\nlink_bandwidth = inf", "= inf: must be a finite number"),
            ("size = 2", "size = 2\n[npus]\ncount = 0", "npus.count = 0: must be greater than or"),
            (
                "size = 2",
                "size = 2\n[vector]\nlanes = 0",
                "vector.lanes = 0: must be greater than or",
            ),
            (
                "size = 2",
                'size = 2\n[dma]\nstartup = "x"',
                'dma.startup = "x": must be a valid integer',
            ),
            ('name = "tiny"', 'name = "a b"', 'name = "a b": must match pattern'),
            (
                'name = "tiny"',
                'name = "t"\nprecision = "int4"',
                "\"int4\": must be 'int8' or 'fp32'",
            ),
            (
                'name = "tiny"',
                'name = "t"\nclock_hz = nan',
                "clock_hz = nan: must be a finite number",
            ),
        ],
    )
    def test_wrong_value(self, old: str, new: str, expected: str) -> None:
        assert TINY.count(old) == 1

        found = message(TINY.replace(old, new))

        assert found.startswith("tiny.toml: ")
        assert expected in found

    def test_one_table_where_several_may_stand(self) -> None:
        found = message(TINY.replace("[[fanout]]", "[fanout]"))

        assert "tiny.toml: fanout = {'name': 'mac'" in found
        assert "must be a valid list" in found
        assert found.endswith("hint: a table of several is written [[fanout]]")

    def test_no_npu(self) -> None:
        assert "npu = []: must have at least 1 item" in message("npu = []\n" + TINY)

    def test_one_level_alone(self) -> None:
        text = TINY.replace('[[level]]\nname = "dram"\nholds = ["W", "I", "O"]\n', "")

        assert "must have at least 2 items after validation, not 1" in message(text)

    def test_size_of_an_npu(self) -> None:
        text = TINY + '\n[[npu]]\nname = "big"\nsizes = { mac = 0 }\n'

        assert "npu.big.sizes.mac = 0: must be greater than or equal to 1" in message(text)

    def test_all_problems_at_once(self) -> None:
        found = message(
            TINY.replace("size = 2", "size = 0").replace("capacity = 64", "capacity = 0")
        )

        assert len(found.splitlines()) == 2

    def test_unknown_level_of_a_fanout(self) -> None:
        found = message(TINY.replace('below = "gb"', 'below = "gbx"'))

        assert found.startswith(
            'tiny.toml: fanout.mac.below = "gbx": no such memory level; allowed: dram, gb'
        )
        assert found.endswith("hint: did you mean 'gb'?")

    def test_unknown_scratchpad(self) -> None:
        found = message(TINY.replace('scratchpad = "gb"', 'scratchpad = "spm"'))

        assert 'scratchpad = "spm": no such memory level' in found

    def test_unknown_fanout_of_a_group_and_of_an_npu(self) -> None:
        group = TINY + '\n[[group]]\nfanouts = ["row"]\nlimit = 4\n'
        npu = TINY + '\n[[npu]]\nname = "big"\nsizes = { row = 4 }\n'

        assert 'group[0].fanouts = "row": no such fan-out; allowed: mac' in message(group)
        assert 'npu.big.sizes = "row": no such fan-out; allowed: mac' in message(npu)

    def test_npus_and_npu_exclude_each_other(self) -> None:
        both = TINY + '\n[npus]\ncount = 2\n[[npu]]\nname = "a"\n'

        assert "npus and npu exclude each other" in message(both)

    def test_a_memory_too_small_for_one_element(self) -> None:
        found = message(TINY.replace("capacity = 64", "capacity = 5"))

        assert (
            "tiny.toml: level.gb.capacity = 5: cannot hold one element of W (1) + I (1) + O (4)"
            " = 6 byte" in found
        )
        assert found.endswith("hint: at least 6")
        parse_architecture(TINY.replace("capacity = 64", "capacity = 6"))

    def test_half_of_a_double_buffered_memory_counts(self) -> None:
        text = with_line("capacity = 64", "double_buffered = true").replace("64", "11")

        assert "half of which (5) is usable" in message(text)
        parse_architecture(text.replace("11", "12"))

    def test_an_on_chip_memory_without_capacity(self) -> None:
        assert (
            message(TINY.replace("capacity = 64\n", ""))
            == "tiny.toml: level.gb.capacity is missing"
        )

    def test_what_the_value_itself_forbids_names_the_file(self) -> None:
        two = TINY + '\n[[fanout]]\nname = "mac"\nbelow = "gb"\nsize = 2\n'

        assert message(two) == "tiny.toml: tiny has two fan-outs of one name"


def test_npus_with_sizes_of_their_own() -> None:
    text = TINY + '\n[[npu]]\nname = "big"\n[[npu]]\nname = "small"\nsizes = { mac = 1 }\n'
    arch = parse_architecture(text)

    assert [arch.npu_macs(npu) for npu in arch.npus] == [2, 1]
    assert parse_architecture(dump_architecture(arch)) == arch


def scratchpad(keys: str) -> str:
    """Return the small machine with more keys of its scratchpad."""
    return TINY.replace('name = "gb"\n', f'name = "gb"\n{keys}\n', 1)


@pytest.mark.parametrize(("value", "ports"), [('"npu"', None), ("1", 1), ("4", 4)])
def test_the_scratchpad_has_ports(value: str, ports: int | None) -> None:
    arch = parse_architecture(scratchpad(f"ports = {value}"))

    assert arch.scratchpad_level.ports == ports
    assert parse_architecture(dump_architecture(arch)) == arch


def test_only_the_scratchpad_has_ports() -> None:
    wrong = TINY.replace('name = "dram"\n', 'name = "dram"\nports = 2\n', 1)

    assert message(wrong) == "tiny.toml: tiny: dram is not the scratchpad and has no ports to set"
    assert "level.gb.ports" in message(scratchpad("ports = 0"))
    assert "level.gb.ports" in message(scratchpad('ports = "pe"'))


def test_the_vector_unit_has_a_parameter_memory() -> None:
    arch = parse_architecture(TINY + "\n[vector]\nparameter_bytes = 4096\n")

    assert arch.vector.parameter_bytes == 4096
    assert parse_architecture(TINY).vector.parameter_bytes == 65536
    assert parse_architecture(dump_architecture(arch)) == arch
    assert "vector.parameter_bytes" in message(TINY + "\n[vector]\nparameter_bytes = 0\n")


@settings(max_examples=40, deadline=None)
@given(
    energy=st.floats(0, 1e9, allow_nan=False),
    bandwidth=st.none() | st.floats(1e-6, 1e9),
    capacity=st.integers(64, 2**40),
    holds=st.permutations(list(Operand)),
    dims=st.permutations(list(Dim)),
    sizes=st.lists(st.integers(1, 64), min_size=1, max_size=4),
    flags=st.tuples(st.booleans(), st.booleans(), st.booleans()),
)
def test_parse_inverts_dump(
    energy: float,
    bandwidth: float | None,
    capacity: int,
    holds: list[Operand],
    dims: list[Dim],
    sizes: list[int],
    flags: tuple[bool, bool, bool],
) -> None:
    start = parse_architecture(TINY)
    level = replace(
        start.level("gb"),
        holds=tuple(holds),
        capacity=capacity,
        read_bandwidth=bandwidth,
        read_energy=energy,
        shared_port=flags[0],
        double_buffered=flags[1],
    )
    fanout = replace(start.fanout("mac"), dims=tuple(dims), reduction=flags[2])
    arch: Architecture = replace(
        start,
        levels=(start.off_chip, level),
        fanouts=(fanout,),
        groups=(FanoutGroup(fanouts=("mac",), limit=sizes[0]),),
        npus=tuple(
            Npu(name=f"n{index}", sizes=(("mac", size),)) for index, size in enumerate(sizes)
        ),
        mac_energy=energy,
    )

    assert parse_architecture(dump_architecture(arch)) == arch


NETWORK = """
[network]
fanout = "mac"
columns = 2
rows = 1
scratchpad_ports = [[0, 0]]
off_chip_ports = [[1, 0]]
"""


class TestNetwork:
    def test_a_mesh_is_read(self) -> None:
        network = parse_architecture(TINY + NETWORK).network

        assert network is not None
        assert (network.columns, network.rows, network.off_chip_ports) == (2, 1, ((1, 0),))

    @pytest.mark.parametrize(
        ("line", "instead", "says"),
        [
            ("[[1, 0]]", "[[2, 0]]", "a port at [2, 0], where no router is"),
            ("rows = 1", "rows = 1\nbuffer_flits = 1", "more than the 1 cycles of a router"),
            ('"mac"', '"pe"', "no fan-out 'pe'"),
        ],
    )
    def test_what_cannot_be_is_refused(self, line: str, instead: str, says: str) -> None:
        assert says in message(TINY + NETWORK.replace(line, instead))

    def test_the_fan_out_must_be_the_outermost(self) -> None:
        second = '\n[[fanout]]\nname = "more"\nbelow = "gb"\nsize = 2\n'
        text = TINY + second + NETWORK.replace('"mac"', '"more"')

        assert "more is not the outermost fan-out" in message(text)
