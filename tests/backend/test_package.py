import stat
import zipfile

import numpy as np
import pytest

from accnn.backend.package import load_package, save_package
from accnn.ir.errors import InputError, OptionError, VerifyError
from accnn.runtime_sim.simulate import simulate

from ..programs import convolution

NAMES = (("image/in", "x"), ("y", "y"))
UNIX = 3
"""The system whose attributes of files members have, by its number in the format of zip files; only
with this one are they a mode."""


@pytest.fixture
def package(tmp_path):
    built, constants, inputs = convolution(2)
    path = tmp_path / "program.acc"
    save_package(path, built, {**constants, "unused": np.zeros(3)}, names=NAMES)
    return path, built, constants, inputs


def rewritten(path, changes=(), *, drop=(), compress=zipfile.ZIP_STORED):
    """A sound zip with members changed."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members |= dict(changes)
    with zipfile.ZipFile(path, "w", compress) as archive:
        for name, content in members.items():
            if name not in drop:
                archive.writestr(name, content)


def test_a_package_holds_program_constants_and_names(package):
    path, built, constants, _ = package

    loaded = load_package(path)

    assert loaded.program == built
    assert set(loaded.constants) == set(constants)
    for name, array in constants.items():
        np.testing.assert_array_equal(loaded.constants[name], array)
    (port,) = loaded.manifest.inputs
    assert (port.name, port.symbol, str(port.type)) == ("image/in", "x", "u8<2x3x5x6>")


def test_equal_content_gives_equal_bytes(package, tmp_path):
    path, built, constants, _ = package

    save_package(tmp_path / "again.acc", built, constants, names=NAMES)

    assert (tmp_path / "again.acc").read_bytes() == path.read_bytes()


def test_members_are_files_that_all_may_read_and_the_owner_may_write(package):
    path, *_ = package

    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()

    assert {stat.filemode(entry.external_attr >> 16) for entry in entries} == {"?rw-r--r--"}
    assert {entry.create_system for entry in entries} == {UNIX}


def test_a_changed_constant_is_noticed_and_without_the_check_changes_the_result(package):
    path, built, constants, inputs = package
    content = bytearray(zipfile.ZipFile(path).read("constants.safetensors"))
    content[-200] ^= 32
    rewritten(path, {"constants.safetensors": bytes(content)})

    with pytest.raises(InputError, match=r"constants.safetensors was changed: its SHA-256"):
        load_package(path)
    tampered = load_package(path, check=False)
    outputs = simulate(tampered.program, tampered.constants, inputs).outputs
    assert (outputs["y"] != simulate(built, constants, inputs).outputs["y"]).any()


def test_every_raw_byte_of_the_constants_counts(package):
    path, _, _, _ = package
    content = bytearray(path.read_bytes())
    content[content.index(b"constants.safetensors") + 100] ^= 1
    path.write_bytes(content)

    with pytest.raises(InputError, match="is not a package, or damaged: Bad CRC-32"):
        load_package(path)


@pytest.mark.parametrize("name", ["program.bin", "arch.toml"])
def test_other_members_are_checked_too(package, name):
    path = package[0]
    content = zipfile.ZipFile(path).read(name)
    rewritten(path, {name: content[:-1] + bytes([content[-1] ^ 1])})

    with pytest.raises(InputError, match=f"{name} was changed"):
        load_package(path)


def test_the_machine_must_be_the_programs(package):
    path = package[0]
    text = zipfile.ZipFile(path).read("arch.toml").replace(b"startup = 10", b"startup = 11")
    rewritten(path, {"arch.toml": text})

    with pytest.raises(InputError, match=r"arch.toml is not the machine that program.bin"):
        load_package(path, check=False)


def test_strange_members_are_refused(package):
    path = package[0]
    rewritten(path, {"../../evil": b"x"})

    with pytest.raises(InputError, match="is not a package\n  hint: it holds: ../../evil"):
        load_package(path)


def test_missing_members_are_refused(package):
    path = package[0]
    rewritten(path, drop=("arch.toml",))

    with pytest.raises(InputError, match="is not a package"):
        load_package(path)


def test_bombs_are_refused(package):
    path = package[0]
    rewritten(path, {"program.bin": bytes(10_000_000)}, compress=zipfile.ZIP_DEFLATED)

    with pytest.raises(InputError, match=r"program.bin would unpack to 10000000 bytes"):
        load_package(path)


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("manifest.json", 64 << 20),
        ("program.bin", 1 << 30),
        ("arch.toml", 1 << 20),
        ("constants.safetensors", 8 << 30),
    ],
)
def test_what_is_larger_than_any_package_is_not_even_unpacked(package, name, most):
    path, *_ = package
    with zipfile.ZipFile(path, "a") as archive:
        entry = archive.getinfo(name)
        entry.file_size = entry.compress_size = most + 1
        archive.comment = b"its list of members is written anew"

    with pytest.raises(InputError, match=f"{name} would unpack to {most + 1} bytes"):
        load_package(path)


def test_sizes_are_checked_even_without_digests(package):
    path = package[0]
    content = zipfile.ZipFile(path).read("arch.toml")
    rewritten(path, {"arch.toml": content + b"\n"})

    with pytest.raises(InputError, match=r"arch.toml has \d+ bytes, must have \d+"):
        load_package(path, check=False)


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        (b'{"version": 2}', "package version 2 where 1 is supported"),
        (b"[]", "must be"),
        (b"{", "not JSON"),
        (b"\xff", "is not UTF-8"),
        (b'{"version": 1}', "network"),
    ],
)
def test_manifests_are_checked(package, manifest, message):
    path = package[0]
    rewritten(path, {"manifest.json": manifest})

    with pytest.raises(InputError, match=message):
        load_package(path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 and so on", b"\x00" * 100])
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "program.acc"
    path.write_bytes(content)

    with pytest.raises(InputError, match="is not a package, or damaged"):
        load_package(path)


def test_missing_files_are_refused(tmp_path):
    with pytest.raises(InputError, match="cannot read .*: No such file"):
        load_package(tmp_path / "nothing.acc")


def test_truncated_packages_are_refused(package, tmp_path):
    content = package[0].read_bytes()
    path = tmp_path / "cut.acc"
    for size in range(0, len(content), 97):
        path.write_bytes(content[:size])
        with pytest.raises(InputError):
            load_package(path)


def test_constants_must_be_there_and_of_their_type(tmp_path):
    built, constants, _ = convolution(1)
    path = tmp_path / "program.acc"

    with pytest.raises(VerifyError, match="constant %w has no data"):
        save_package(path, built, {"p": constants["p"]})
    with pytest.raises(VerifyError, match=r"constant %w is s8<1x4x3x3x3>, its data are s32"):
        save_package(path, built, {**constants, "w": constants["w"].astype(np.int32)})
    assert not path.exists()


def test_nothing_is_left_where_writing_fails(tmp_path):
    built, constants, _ = convolution(1)

    with pytest.raises(OptionError, match="cannot write"):
        save_package(tmp_path / "no" / "program.acc", built, constants)
    with pytest.raises(VerifyError):
        save_package(tmp_path / "program.acc", built, {})
    assert list(tmp_path.iterdir()) == []


def test_ports_of_the_manifest_must_exist(package):
    path = package[0]
    manifest = zipfile.ZipFile(path).read("manifest.json")
    rewritten(path, {"manifest.json": manifest.replace(b'"symbol": "x"', b'"symbol": "z"')})

    with pytest.raises(InputError, match=r"manifest.json lists 'z', which program.bin has not"):
        load_package(path)
