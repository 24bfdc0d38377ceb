"""ZigZag's files: workload, accelerator and mapping of one nest, as its version 3 reads them.

A fan-out becomes a dimension ``D1`` .. ``D4`` of the operational array; a memory serves those that
stand beneath it. Loops of the mapping run from the innermost outwards.

Deviation: ZigZag gives operands their memories itself, as far in as each loop fits, so which loop
an operand's tile starts at is not written; a nest that goes past a memory on purpose, or that is
padded, is one of other extents there. The network on chip has no energy there, and a port without
a limit moves a word a cycle.

References:
    ZigZag 3, ``zigzag/parser``: the validators of workload, accelerator and mapping.
"""

from collections.abc import Mapping

from ...ir.arch import Architecture, MemoryLevel, Precision
from ...ir.errors import OptionError
from ...ir.mapping import LoopNest
from ...ir.workload import Dim, Operand, Workload

_DIMS: Mapping[Dim, str] = {
    Dim.N: "B",
    Dim.K: "K",
    Dim.C: "C",
    Dim.P: "OY",
    Dim.Q: "OX",
    Dim.R: "FY",
    Dim.S: "FX",
}
_OPERANDS: Mapping[Operand, str] = {Operand.W: "I2", Operand.I: "I1", Operand.O: "O"}
_READS: Mapping[Operand, tuple[str, ...]] = {
    Operand.W: ("I2, tl",),
    Operand.I: ("I1, tl",),
    Operand.O: ("O, tl", "O, th"),
}
_WRITES: Mapping[Operand, tuple[str, ...]] = {
    Operand.W: ("I2, fh",),
    Operand.I: ("I1, fh",),
    Operand.O: ("O, fh", "O, fl"),
}
_MOST_DIMENSIONS = 4
_UNBOUNDED_SIZE = 10**13
"""Of a memory without a limit [bit]."""


def write_zigzag_workload(nest: LoopNest, arch: Architecture) -> str:
    """Return a workload file: one convolution with the extents of the nest, padding included.

    Args:
        nest: Without groups.
        arch: Its precision.

    Raises:
        OptionError: The nest has groups.
    """
    if nest.extents[Dim.G] > 1:
        raise OptionError(
            "ZigZag's convolution is written without groups",
            hint="write one group, K and C of a group",
        )
    word = 32 if arch.precision is Precision.FP32 else 8
    sizes = ", ".join(str(nest.extents[dim]) for dim in _DIMS)
    iy, ix = _relations(nest.workload)
    return (
        f"- id: 0\n"
        f"  name: layer\n"
        f"  operator_type: Conv\n"
        f"  equation: O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix]\n"
        f"  dimension_relations: [{ix}, {iy}]\n"
        f"  loop_dims: [{', '.join(_DIMS.values())}]\n"
        f"  loop_sizes: [{sizes}]\n"
        f"  operand_precision: {{W: {word}, I: {word}, O: {arch.accumulator_bits}, "
        f"O_final: {word}}}\n"
        f"  operand_source: {{I: 0, W: 0}}\n"
    )


def _relations(workload: Workload) -> tuple[str, str]:
    (down, across), (below, beside) = workload.stride, workload.dilation
    return f"iy={down}*oy+{below}*fy", f"ix={across}*ox+{beside}*fx"


def write_zigzag_accelerator(arch: Architecture) -> str:
    """Return an accelerator file; memories from the innermost outwards, sizes in bits.

    Raises:
        OptionError: The machine has more fan-outs than ZigZag's mapping names.
    """
    dimensions = _dimensions(arch)
    lines = [
        f"name: {arch.name}",
        "operational_array:",
        f"  unit_energy: {float(arch.mac_energy)}",
        "  unit_area: 0.0",
        f"  dimensions: [{', '.join(dimensions.values()) or 'D1'}]",
        f"  sizes: [{', '.join(str(item.size) for item in arch.fanouts) or '1'}]",
        "memories:",
    ]
    for level in reversed(arch.levels):
        lines += _memory(level, _served(level, arch, dimensions))
    return "\n".join([*lines, ""])


def _dimensions(arch: Architecture) -> Mapping[str, str]:
    if len(arch.fanouts) > _MOST_DIMENSIONS:
        raise OptionError(
            f"{arch.name} has {len(arch.fanouts)} fan-outs, ZigZag's mapping names "
            f"{_MOST_DIMENSIONS} dimensions"
        )
    return {item.name: f"D{number}" for number, item in enumerate(arch.fanouts, start=1)}


def _served(level: MemoryLevel, arch: Architecture, dimensions: Mapping[str, str]) -> str:
    """Return the dimensions of the array over which one instance of a memory feeds all."""
    names = [item.name for item in arch.levels]
    beneath = names[names.index(level.name) :]
    return ", ".join(dimensions[item.name] for item in arch.fanouts if item.below in beneath)


def _memory(level: MemoryLevel, served: str) -> list[str]:
    held = [item for item in Operand if item in level.holds]
    reads = [text for item in held for text in _READS[item]]
    writes = [text for item in held for text in _WRITES[item]]
    read, write = _bits(level, level.read_bandwidth), _bits(level, level.write_bandwidth)
    ports = [("r_port_1", "read", read, reads), ("w_port_1", "write", write, writes)]
    if level.shared_port:
        write = read
        ports = [("rw_port_1", "read_write", read, [*reads, *writes])]
    size = _UNBOUNDED_SIZE if level.usable is None else 8 * level.usable
    lines = [
        f"  {level.name}:",
        f"    size: {size}",
        f"    r_cost: {level.read_energy * read / level.word_bits}",
        f"    w_cost: {level.write_energy * write / level.word_bits}",
        "    area: 0.0",
        "    latency: 1",
        f"    operands: [{', '.join(_OPERANDS[item] for item in held)}]",
        "    ports:",
    ]
    for name, kind, bits, allocation in ports:
        shown = ", ".join(f'"{item}"' for item in allocation)
        lines.append(
            f"      - {{name: {name}, type: {kind}, bandwidth_min: {min(bits, level.word_bits)}, "
            f"bandwidth_max: {bits}, allocation: [{shown}]}}"
        )
    return [*lines, f"    served_dimensions: [{served}]"]


def _bits(level: MemoryLevel, bandwidth: float | None) -> int:
    """Return the bits of a port in a cycle; of one without a limit a word.

    ZigZag charges an access for all bits of a port, also where fewer move.
    """
    return level.word_bits if bandwidth is None else max(1, round(8 * bandwidth))


def write_zigzag_mapping(nest: LoopNest, arch: Architecture) -> str:
    """Return a mapping file for every layer: what is unrolled, and the order of the loops.

    Raises:
        OptionError: The nest has groups, or the machine too many fan-outs.
    """
    if nest.extents[Dim.G] > 1:
        raise OptionError("ZigZag's convolution is written without groups")
    dimensions = _dimensions(arch)
    lines = ["- name: default", "  spatial_mapping:"]
    for fanout in arch.fanouts:
        own = [loop for loop in nest.spatial if loop.fanout == fanout.name and loop.extent > 1]
        shown = ", ".join(f'"{_DIMS[loop.dim]}, {loop.extent}"' for loop in own) or '"K, 1"'
        lines.append(f"    {dimensions[fanout.name]}: [{shown}]")
    if not arch.fanouts:
        lines.append('    D1: ["K, 1"]')
    lines += ["  memory_operand_links: {O: O, W: I2, I: I1}", "  temporal_ordering:"]
    loops = [loop for loop in reversed(nest.temporal) if loop.extent > 1]
    lines += [f"    - [{_DIMS[loop.dim]}, {loop.extent}]" for loop in loops]
    if not loops:
        lines[-1] = "  temporal_ordering: []"
    return "\n".join([*lines, ""])
