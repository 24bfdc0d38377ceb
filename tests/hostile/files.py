"""Right files of every kind, what reads them, and how they are damaged."""

import json
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import onnx
from typer.testing import CliRunner

from accnn.backend.load import find_source, load_architecture
from accnn.backend.package import load_package
from accnn.compiler.cli.acc_compile import app
from accnn.compiler.stores.mappings import MapJob, MappingCache, key_of
from accnn.ir.text.parser import parse_module, parse_program
from accnn.ir.workload import Workload
from accnn.models.onnx_import.importer import import_model
from accnn.models.onnx_import.loading.load import load_model
from accnn.passes.mapping.problem import MappingProblem
from accnn.passes.mapping.recipes.output_stationary import OutputStationary
from tests.compiler.cli.nets import tiny

_NUMBER = re.compile(rb"\d+")
_LARGE = (b"0", b"-1", b"65536", b"2147483648", b"1" + b"0" * 30, b"1e999", b"nan", b"\xff")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file.

    Attributes:
        right: A file of it, which can be read.
        suffix: Of its name.
        read: Reads one; complains by an ``AccnnError``, where it does.
    """

    right: bytes
    suffix: str
    read: Callable[[Path], object]


def kind_of(name: str, folder: Path) -> Kind:
    """Return a kind of files, made in an empty folder."""
    if name == "cache":
        return _cache(folder)
    if name == "toml":
        return Kind(find_source("simba").path.read_bytes(), ".toml", _architecture)
    network = folder / "tiny.onnx"
    onnx.save(tiny(), network)
    if name == "onnx":
        return Kind(network.read_bytes(), ".onnx", _import)
    file, read = _COMPILED[name]
    path = _compiled(network) / file
    return Kind(path.read_bytes(), path.suffix, read)


def _compiled(network: Path) -> Path:
    """Return the folder with what a network is compiled to."""
    made = network.with_suffix(".acc")
    words = [str(network), "--arch", "edge-1m", "-o", str(made), *_QUICKLY]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    return made


_QUICKLY = ("--mapper", "output-stationary", "--processes", "1", "--no-cache", "--verify", "off")


def _import(path: Path) -> object:
    return import_model(load_model(path))


def _architecture(path: Path) -> object:
    return load_architecture(str(path))


def _text(parse: Callable[[str], object], path: Path) -> object:
    return parse(path.read_text(encoding="utf-8", errors="replace"))


_COMPILED: Mapping[str, tuple[str, Callable[[Path], object]]] = {
    "ir": ("module.ir", partial(_text, parse_module)),
    "assembly": ("program.asm", partial(_text, parse_program)),
    "program": ("program.acc", load_package),
    "members": ("program.acc", partial(load_package, check=False)),
}
"""By kind, a file of what is compiled, and what reads it."""


def _cache(folder: Path) -> Kind:
    """Return the kind of a stored answer: what cannot be read is no answer."""
    problem = MappingProblem(workload=Workload(P=4, C=8, K=8), arch=load_architecture("simba"))
    job = MapJob(problem, OutputStationary())
    key, cache = key_of(job), MappingCache(folder / "answers")
    cache.store(key, job.solve())
    (path,) = (item for item in (folder / "answers").rglob("*") if item.is_file())
    assert json.loads(path.read_bytes())

    def read(damaged: Path) -> object:
        path.write_bytes(damaged.read_bytes())
        return cache.find(key)

    return Kind(path.read_bytes(), ".json", read)


def damaged(right: bytes, draw: random.Random) -> bytes:
    """Return a file with up to three places changed, mostly one."""
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        right = draw.choice(_WAYS)(right, draw)
    return right


def _flipped(right: bytes, draw: random.Random) -> bytes:
    if not right:
        return right
    at = draw.randrange(len(right))
    return right[:at] + bytes((right[at] ^ (1 << draw.randrange(8)),)) + right[at + 1 :]


def _cut(right: bytes, draw: random.Random) -> bytes:
    return right[: draw.randint(0, len(right))]


def _without(right: bytes, draw: random.Random) -> bytes:
    start = draw.randint(0, len(right))
    return right[:start] + right[start + draw.randint(1, 40) :]


def _twice(right: bytes, draw: random.Random) -> bytes:
    start = draw.randint(0, len(right))
    part = right[start : start + draw.randint(1, 200)]
    at = draw.randint(0, len(right))
    return right[:at] + part + right[at:]


def _lines(right: bytes, draw: random.Random) -> bytes:
    lines = right.splitlines(keepends=True)
    draw.shuffle(lines[: draw.randint(0, len(lines))])
    if lines:
        lines.insert(draw.randint(0, len(lines)), draw.choice(lines))
    return b"".join(lines)


def _number(right: bytes, draw: random.Random) -> bytes:
    found = list(_NUMBER.finditer(right))
    if not found:
        return right
    item = draw.choice(found)
    return right[: item.start()] + draw.choice(_LARGE) + right[item.end() :]


_WAYS = (_flipped, _flipped, _flipped, _cut, _without, _twice, _lines, _number, _number, _number)
