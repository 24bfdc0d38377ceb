"""Timeloop's files: write problem, architecture and mapping, and read mappings back.

The legacy (v1) format, as ``timeloop-model`` reads it: levels from the innermost outwards; one
temporal directive per level, a spatial one per level with fan-out beneath, and a bypass list; a
permutation names the innermost loop first. Timeloop knows seven dimensions and even mappings:
``G`` has no place in a file (a group is one problem), and a nest whose operands start at different
loops of one level cannot be written.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence

from ...ir.arch import Architecture
from ...ir.errors import OptionError, ParseError
from ...ir.mapping import Loop, LoopNest, SpatialLoop, even_nest
from ...ir.workload import Dim, Operand, Workload

_DIMS = (Dim.R, Dim.S, Dim.P, Dim.Q, Dim.C, Dim.K, Dim.N)
_SPACES = {Operand.W: "Weights", Operand.I: "Inputs", Operand.O: "Outputs"}


def write_problem(workload: Workload) -> str:
    """Return a problem file.

    Raises:
        OptionError: The workload has groups.
    """
    if workload.G > 1:
        raise OptionError(
            "Timeloop's convolution has no groups", hint="write one group, K and C of a group"
        )
    fields: dict[str, int] = {dim.value: workload.dims[dim] for dim in _DIMS}
    # In Timeloop's convolution, W goes with P and R, and H with Q and S.
    fields |= {"Wstride": workload.stride[0], "Hstride": workload.stride[1]}
    fields |= {"Wdilation": workload.dilation[0], "Hdilation": workload.dilation[1]}
    lines = [f"  {name}: {value}" for name, value in sorted(fields.items())]
    return "\n".join(["problem:", *lines, "  shape: cnn-layer", ""])


def write_arch(arch: Architecture) -> str:
    """Return an architecture file, levels from the innermost outwards."""
    macs = arch.macs
    lines = ["arch:", "  arithmetic:", f"    instances: {macs}", "    word-bits: 8", "  storage:"]
    for level in reversed(arch.levels):
        instances = arch.instances(level.name)
        word = arch.accumulator_bits if level.holds == (Operand.O,) else 8
        block = max(1, level.word_bits // word)
        lines += [f"  - name: {level.name}", f"    instances: {instances}"]
        lines += [f"    word-bits: {word}", f"    block-size: {block}"]
        if level.usable is None:
            lines.append("    technology: DRAM")
        else:
            lines.append(f"    entries: {8 * level.usable // word}")
        if level.read_bandwidth is not None:
            # The format's plain "bandwidth" is that of reads and writes together.
            name = "bandwidth" if level.shared_port else "read_bandwidth"
            lines.append(f"    {name}: {level.read_bandwidth * 8 / word}")
        if level.write_bandwidth is not None and not level.shared_port:
            lines.append(f"    write_bandwidth: {level.write_bandwidth * 8 / word}")
    return "\n".join([*lines, ""])


def write_mapping(nest: LoopNest, arch: Architecture) -> str:
    """Return a mapping file.

    Raises:
        OptionError: The nest is uneven, or has groups.
    """
    if nest.extents[Dim.G] > 1:
        raise OptionError("Timeloop's convolution has no groups")
    temporal = _loops_by_level(nest, arch)
    lines = ["mapping:"]
    for level in reversed(arch.levels):
        beneath = [item.name for item in arch.fanouts if item.below == level.name]
        if beneath:
            unrolled = [loop for loop in nest.spatial if loop.fanout in beneath]
            lines.append(_directive(level.name, "spatial", [(i.dim, i.extent) for i in unrolled]))
        loops = [(loop.dim, loop.extent) for loop in temporal[level.name]]
        lines.append(_directive(level.name, "temporal", loops))
    for level in reversed(arch.levels):
        kept = [item for item in Operand if nest.start(item, level.name) is not None]
        names = ", ".join(_SPACES[item] for item in kept)
        others = ", ".join(_SPACES[item] for item in Operand if item not in kept)
        lines.append(
            f"  - {{ target: {level.name}, type: bypass, keep: [ {names} ], bypass: [ {others} ] }}"
        )
    return "\n".join([*lines, ""])


def _loops_by_level(nest: LoopNest, arch: Architecture) -> Mapping[str, Sequence[Loop]]:
    starts: list[int] = []
    for level in arch.levels:
        own = {item.start for item in nest.allocations if item.level == level.name}
        if len(own) > 1:
            raise OptionError(
                f"operands start at different loops of {level.name}",
                hint="Timeloop writes even mappings only",
            )
        starts.append(own.pop() if own else starts[-1])
    ends = [*starts[1:], len(nest.temporal)]
    if starts != sorted(starts):
        raise OptionError(
            "an inner memory has a tile that starts further out than that of an outer one",
            hint="Timeloop writes even mappings only",
        )
    return {
        level.name: nest.temporal[start:end]
        for level, start, end in zip(arch.levels, starts, ends, strict=True)
    }


def _directive(target: str, kind: str, loops: Sequence[tuple[Dim, int]]) -> str:
    extents: dict[Dim, int] = dict.fromkeys(_DIMS, 1)
    for dim, extent in loops:
        if extents[dim] > 1:
            raise OptionError(f"{target} has two loops over {dim}, Timeloop writes one")
        extents[dim] *= extent
    factors = " ".join(f"{dim}={extents[dim]}" for dim in _DIMS)
    used = [dim for dim, extent in reversed(loops) if extent > 1]
    order = "".join([*used, *(dim for dim in _DIMS if dim not in used)])
    return f"  - {{ target: {target}, type: {kind}, factors: {factors}, permutation: {order} }}"


_LINE = re.compile(r"target:\s*(\w+),\s*type:\s*(\w+),\s*(.*?)\s*\}")
_FACTOR = re.compile(r"([RSPQCKN])\s*=\s*(\d+)")


def read_mapping(
    text: str,
    workload: Workload,
    arch: Architecture,
    names: Mapping[str, str] | None = None,
) -> LoopNest:
    """Return the nest of a mapping file.

    Args:
        text: The file.
        workload: What is mapped.
        arch: The machine.
        names: Level names of the file to those of the machine, where they differ.

    Raises:
        ParseError: A line does not follow the format, or names an unknown level.
    """
    known = {level.name: level.name for level in arch.levels} | dict(names or {})
    temporal: dict[str, list[Loop]] = {}
    spatial: list[SpatialLoop] = []
    bypass: set[tuple[Operand, str]] = set()
    for number, line in enumerate(text.splitlines(), start=1):
        if "target" not in line:
            continue
        found = _LINE.search(line)
        if found is None or found[1] not in known:
            raise ParseError(
                f"mapping:{number}:1: not a directive of a known level: {line.strip()}"
            )
        level, kind, rest = known[found[1]], found[2], found[3]
        if kind == "bypass":
            bypass |= {(item, level) for item in _bypassed(rest)}
        elif kind == "temporal":
            temporal[level] = [Loop(dim, extent) for dim, extent in _ordered(rest)]
        else:
            spatial += _unrolled(level, _ordered(rest), arch)
    return even_nest(workload, arch, temporal, spatial, frozenset(bypass))


def _bypassed(text: str) -> Iterable[Operand]:
    listed = text.split("bypass:")[1]
    return [item for item, name in _SPACES.items() if name in listed]


def _ordered(text: str) -> list[tuple[Dim, int]]:
    """Return the loops of a directive, outermost first."""
    extents = {Dim(name): int(value) for name, value in _FACTOR.findall(text.split("permut")[0])}
    order = text.split("permutation:")[1].strip() if "permutation" in text else "RSPQCKN"
    return [(Dim(name), extents.get(Dim(name), 1)) for name in reversed(order) if name.isalpha()]


def _unrolled(
    level: str, loops: Sequence[tuple[Dim, int]], arch: Architecture
) -> list[SpatialLoop]:
    """Give unrolled loops to the fan-outs of a level; one that fits, the first if several do."""
    left = {item.name: item.size for item in arch.fanouts if item.below == level}
    found: list[SpatialLoop] = []
    for dim, extent in loops:
        if extent == 1:
            continue
        fitting = [name for name, size in left.items() if size % extent == 0 and size >= extent]
        name = next(iter(fitting or left), None)
        if name is None:
            raise ParseError(f"mapping: {level} has no fan-out for {dim}={extent}")
        found.append(SpatialLoop(dim, extent, name))
        left[name] = math.floor(left[name] / extent)
    return found
