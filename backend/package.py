"""The artefact ``program.acc``: a zip with all that a run needs, and a digest of each part.

===================== ==========================================================================
``manifest.json``     versions, members with size and SHA-256, inputs and outputs
``program.bin``       the program (``encode``)
``arch.toml``         the machine, for people; must equal the program's
``constants.safetensors``  the constants' data, stored without compression
===================== ==========================================================================

Equal content gives equal bytes: members have a fixed order and no time stamps.
"""

import hashlib
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy.typing as npt

from ..ir.codec.files import replacing
from ..ir.codec.json_codec import dump_json, parse_json, parse_key
from ..ir.errors import AccnnError, InputError, VerifyError
from ..ir.isa.program import Program, Symbol, SymbolKind
from ..ir.resources import Constants, dtype_of
from ..ir.types import TensorType
from .arch_tables import dump_architecture
from .binary.encode import decode, encode
from .load import parse_architecture

Array: TypeAlias = npt.NDArray[Any]

PACKAGE_VERSION = 1
"""Version of the manifest and of the set of members."""

_MANIFEST = "manifest.json"
_PROGRAM = "program.bin"
_ARCH = "arch.toml"
_CONSTANTS = "constants.safetensors"
_LIMITS: Mapping[str, int] = {
    _MANIFEST: 1 << 26,
    _PROGRAM: 1 << 30,
    _ARCH: 1 << 20,
    _CONSTANTS: 1 << 33,
}
_MAX_RATIO = 250
_EPOCH = (1980, 1, 1, 0, 0, 0)
_UNREADABLE = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError)
"""What reading a damaged archive ends with."""


@dataclass(frozen=True, slots=True)
class Member:
    """A file of the package.

    Attributes:
        name: Its name in the zip.
        bytes: Its size.
        sha256: Hexadecimal digest of its bytes.
    """

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class NetworkPort:
    """An input or output of the network.

    Attributes:
        name: What the ONNX model calls it.
        symbol: What the program calls it.
        type: Element type, shape and quantisation.
    """

    name: str
    symbol: str
    type: TensorType


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The table of contents.

    Attributes:
        version: ``PACKAGE_VERSION``.
        network: Name of the network.
        arch: Name of the machine.
        members: All files but this one.
        inputs: What a run needs.
        outputs: What a run gives.
    """

    version: int
    network: str
    arch: str
    members: tuple[Member, ...]
    inputs: tuple[NetworkPort, ...]
    outputs: tuple[NetworkPort, ...]


@dataclass(frozen=True, slots=True)
class Package:
    """A program with its constants, as it was loaded."""

    program: Program
    constants: Constants
    manifest: Manifest


def save_package(
    path: Path,
    program: Program,
    constants: Mapping[str, Array],
    *,
    names: Sequence[tuple[str, str]] = (),
) -> None:
    """Write a package, whole or not at all.

    Args:
        path: The file.
        program: The program.
        constants: Data of its constant symbols; others are left out.
        names: ONNX name and symbol of inputs and outputs, where they differ; a symbol may have
            several.

    Raises:
        VerifyError: A constant is missing or does not suit its symbol.
        OptionError: The file cannot be written.
    """
    members = {
        _PROGRAM: encode(program),
        _ARCH: dump_architecture(program.arch).encode(),
        _CONSTANTS: _own_constants(program, constants).to_bytes(),
    }
    manifest = dump_json(_manifest(program, members, names)).encode()
    with replacing(path) as partial, zipfile.ZipFile(partial, "w") as archive:
        for name, content in {_MANIFEST: manifest, **members}.items():
            _add(archive, name, content)


def load_package(path: Path, *, check: bool = True) -> Package:
    """Read a package.

    Args:
        path: The file.
        check: Whether to compare the members' digests with the manifest's.

    Raises:
        InputError: The file is missing, no package, damaged, or of another version.
    """
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is not a file")
    try:
        with zipfile.ZipFile(path) as archive:
            members = _read_members(path, archive)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except _UNREADABLE as error:
        raise InputError(f"{path} is not a package, or damaged: {error}") from error
    try:
        manifest = _parse_manifest(members[_MANIFEST])
        _check_members(manifest, members, check)
        return _unpack(manifest, members)
    except AccnnError as error:
        raise InputError(f"{path}: {error.message}", hint=error.hint) from error


def _own_constants(program: Program, constants: Mapping[str, Array]) -> Constants:
    symbols = [symbol for symbol in program.symbols if symbol.kind is SymbolKind.CONSTANT]
    missing = [symbol.name for symbol in symbols if symbol.name not in constants]
    if missing:
        raise VerifyError(f"constant %{missing[0]} has no data")
    own = Constants({symbol.name: constants[symbol.name] for symbol in symbols})
    _check_types(symbols, own)
    return own


def _check_types(symbols: Iterable[Symbol], constants: Constants) -> None:
    for symbol in symbols:
        array = constants[symbol.name]
        if (dtype_of(array.dtype), array.shape) != (symbol.type.dtype, symbol.type.shape):
            found = TensorType(dtype_of(array.dtype), array.shape)
            raise VerifyError(f"constant %{symbol.name} is {symbol.type}, its data are {found}")


def _manifest(
    program: Program, members: Mapping[str, bytes], names: Sequence[tuple[str, str]]
) -> Manifest:
    named: dict[str, dict[str, None]] = {}
    for name, symbol in names:
        named.setdefault(symbol, {})[name] = None

    def ports(kind: SymbolKind) -> tuple[NetworkPort, ...]:
        return tuple(
            NetworkPort(name, symbol.name, symbol.type)
            for symbol in program.symbols
            if symbol.kind is kind
            for name in named.get(symbol.name, (symbol.name,))
        )

    return Manifest(
        version=PACKAGE_VERSION,
        network=program.name,
        arch=program.arch.name,
        members=tuple(
            Member(name, len(content), _digest(content)) for name, content in members.items()
        ),
        inputs=ports(SymbolKind.INPUT),
        outputs=ports(SymbolKind.OUTPUT),
    )


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(name, _EPOCH)
    entry.create_system = 3
    entry.external_attr = 0o644 << 16
    entry.compress_type = zipfile.ZIP_STORED if name == _CONSTANTS else zipfile.ZIP_DEFLATED
    archive.writestr(entry, content)


def _read_members(path: Path, archive: zipfile.ZipFile) -> dict[str, bytes]:
    """Read the members that a package has, and nothing else; sizes are checked before."""
    entries = archive.infolist()
    names = [entry.filename for entry in entries]
    if sorted(names) != sorted(_LIMITS):
        found = ", ".join(sorted(names)[:8])
        raise InputError(f"{path} is not a package", hint=f"it holds: {found}")
    for entry in entries:
        too_large = entry.file_size > _LIMITS[entry.filename]
        if too_large or entry.file_size > _MAX_RATIO * max(entry.compress_size, 64):
            raise InputError(f"{path}: {entry.filename} would unpack to {entry.file_size} bytes")
    return {entry.filename: archive.read(entry) for entry in entries}


def _parse_manifest(content: bytes) -> Manifest:
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{_MANIFEST} is not UTF-8") from error
    version = parse_key(text, "version")
    if version != PACKAGE_VERSION:
        raise InputError(f"package version {version} where {PACKAGE_VERSION} is supported")
    return parse_json(text, Manifest)


def _check_members(manifest: Manifest, members: Mapping[str, bytes], check: bool) -> None:
    listed = {member.name: member for member in manifest.members}
    if {*listed, _MANIFEST} != set(members):
        raise InputError(f"{_MANIFEST} lists other members than there are")
    for name, member in listed.items():
        if len(members[name]) != member.bytes:
            raise InputError(f"{name} has {len(members[name])} bytes, must have {member.bytes}")
        if check and _digest(members[name]) != member.sha256:
            raise InputError(f"{name} was changed: its SHA-256 is not the manifest's")


def _unpack(manifest: Manifest, members: Mapping[str, bytes]) -> Package:
    program = decode(members[_PROGRAM])
    program.verify()
    try:
        arch = parse_architecture(members[_ARCH].decode(), file=_ARCH)
    except UnicodeDecodeError as error:
        raise InputError(f"{_ARCH} is not UTF-8") from error
    if arch != program.arch:
        raise InputError(f"{_ARCH} is not the machine that {_PROGRAM} was made for")
    constants = Constants.from_bytes(members[_CONSTANTS])
    names = {symbol.name for symbol in program.symbols if symbol.kind is SymbolKind.CONSTANT}
    if names != set(constants):
        raise InputError(f"{_CONSTANTS} does not hold the program's constants")
    _check_types((program.symbol[name] for name in sorted(names)), constants)
    for port in (*manifest.inputs, *manifest.outputs):
        if port.symbol not in program.symbol or program.symbol[port.symbol].type != port.type:
            raise InputError(f"{_MANIFEST} lists {port.symbol!r}, which {_PROGRAM} has not")
    return Package(program, constants, manifest)
