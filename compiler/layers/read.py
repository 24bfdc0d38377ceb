"""Layers as users write them: on the command line, and in CSV files."""

import csv
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...ir.arch import Architecture
from ...ir.errors import InputError, OptionError, VerifyError
from ...ir.mapping import SpatialLoop
from ...ir.workload import DIMS, Dim, Workload

_LOG = logging.getLogger(__name__)
_UNROLLED = re.compile(r"^(\w+)=(\d+)@([\w-]+)$")
_FIELD = re.compile(r"^(\w+)=(\d+)(?:,(\d+))?$")
_PAIRS = ("stride", "dilation")
_COLUMNS = ("R", "S", "P", "Q", "C", "K")
_KNOWN = frozenset({*DIMS, "stride_w", "stride_h", "dnn", "layer"})
_HINT = 'write "R=3 S=3 P=56 Q=56 C=64 K=64 N=1 G=1 stride=1 dilation=1"'
_LARGEST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Layer:
    """A workload with a name."""

    name: str
    workload: Workload


def parse_layer(text: str) -> Layer:
    """Return a layer written as ``R=3 S=3 P=56 Q=56 C=64 K=64 stride=2``.

    Dimensions that are absent are one; ``stride`` and ``dilation`` take one number or two
    (vertical, horizontal).

    Raises:
        OptionError: A field is unknown, given twice or not a positive number.
    """
    if not text.split():
        raise OptionError("--layer: it is empty", hint=_HINT)
    extents: dict[str, int] = {}
    pairs: dict[str, tuple[int, int]] = {}
    for word in text.split():
        found = _FIELD.match(word)
        name = found[1] if found else ""
        if found is None or (name not in DIMS and name not in _PAIRS):
            raise OptionError(
                f"--layer: cannot read {word!r}",
                hint=_HINT,
            )
        if name in extents or name in pairs:
            raise OptionError(f"--layer: {name} is given twice")
        if name in _PAIRS:
            pairs[name] = (int(found[2]), int(found[3] or found[2]))
        elif found[3] is not None:
            raise OptionError(f"--layer: {name} takes one number")
        else:
            extents[name] = int(found[2])
    return _layer(" ".join(text.split()), extents, pairs)


def parse_spatial(text: str, arch: Architecture) -> tuple[SpatialLoop, ...]:
    """Return unrolled loops written as ``P=14@column R=3@row``.

    Raises:
        OptionError: A word cannot be read, or names a fan-out that the machine does not have.
    """
    names = [fanout.name for fanout in arch.fanouts]
    loops: list[SpatialLoop] = []
    for word in text.split():
        found = _UNROLLED.match(word)
        if found is None or found[1] not in DIMS or found[3] not in names or int(found[2]) < 1:
            raise OptionError(
                f"--spatial: cannot read {word!r}",
                hint=f'write "P=14@{names[0]}"; fan-outs: {", ".join(names)}'
                if names
                else f"{arch.name} has no fan-outs",
            )
        loops.append(SpatialLoop(Dim(found[1]), int(found[2]), found[3]))
    return tuple(loops)


def read_layers(path: Path) -> tuple[Layer, ...]:
    """Return the layers of a CSV file, in order.

    Columns: ``R S P Q C K``, and where they exist ``N G stride_w stride_h dnn layer``; others are
    disregarded, with a warning. ``stride_h`` is vertical. A layer is named ``dnn/layer``, or by its
    line.

    Raises:
        InputError: The file cannot be read, or a line is malformed; names file and line.
    """
    try:
        with path.open(newline="") as file:
            reader = csv.DictReader(file)
            missing = [name for name in _COLUMNS if name not in (reader.fieldnames or ())]
            if missing:
                raise InputError(f"{path}: no column {', '.join(missing)}")
            _tell_unknown(path, reader.fieldnames or ())
            layers = tuple(_read(path, number, row) for number, row in enumerate(reader, start=2))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"cannot read {path}: it is no CSV text ({error})") from error
    if not layers:
        raise InputError(f"{path}: holds no layer")
    return layers


def _tell_unknown(path: Path, columns: Sequence[str]) -> None:
    unknown = [name for name in columns if name not in _KNOWN]
    if unknown:
        _LOG.warning("%s: columns that say nothing here: %s", path, ", ".join(unknown))


def _read(path: Path, number: int, row: dict[str, str | None]) -> Layer:
    def value(name: str) -> int:
        text = row.get(name) or "1"
        if not text.isdecimal():
            raise InputError(f"{path}:{number}: {name} is {text!r}, must be a positive number")
        return int(text)

    absent = [name for name in _COLUMNS if not row.get(name)]
    if absent:
        raise InputError(f"{path}:{number}: no value for {', '.join(absent)}")
    names = [row.get("dnn"), row.get("layer")]
    name = "/".join(part for part in names if part) or f"line{number}"
    extents = {dim.value: value(dim.value) for dim in DIMS}
    try:
        return _layer(name, extents, {"stride": (value("stride_h"), value("stride_w"))})
    except OptionError as error:
        raise InputError(f"{path}:{number}: {error.message}") from error


def _layer(name: str, extents: dict[str, int], pairs: dict[str, tuple[int, int]]) -> Layer:
    given = {**{name: (extent,) for name, extent in extents.items()}, **pairs}
    for field, values in given.items():
        if max(values) > _LARGEST:
            written = ",".join(map(str, values))
            raise OptionError(f"{field} is {written}, must be at most {_LARGEST}")
    workload = Workload(
        **extents, stride=pairs.get("stride", (1, 1)), dilation=pairs.get("dilation", (1, 1))
    )
    try:
        workload.verify()
    except VerifyError as error:
        raise OptionError(error.message) from error
    return Layer(name, workload)
