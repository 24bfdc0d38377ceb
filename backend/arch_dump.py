"""An architecture as TOML text that loads back to an equal value."""

import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from ..ir.arch import Architecture, Fanout, FanoutGroup, MemoryLevel, Npu

_Value: TypeAlias = str | bool | int | float | Sequence[str] | Mapping[str, int] | None


def dump_architecture(arch: Architecture) -> str:
    """Return TOML text with every key; :func:`.load.parse_architecture` reads it back.

    Comments and the description of the file that the value came from are not part of it.
    """
    tables = [
        _keys(_top(arch)),
        *(_table("[[level]]", _level(level)) for level in arch.levels),
        *(_table("[[fanout]]", _fanout(fanout)) for fanout in arch.fanouts),
        *(_table("[[group]]", _group(group)) for group in arch.groups),
        *(_table("[[npu]]", _npu(npu)) for npu in arch.npus),
        _table("[vector]", _vector(arch)),
        _table("[dma]", {"channels": arch.dma.channels, "startup": arch.dma.startup}),
    ]
    return "\n".join(tables)


def _top(arch: Architecture) -> dict[str, _Value]:
    return {
        "name": arch.name,
        "scratchpad": arch.scratchpad,
        "precision": arch.precision.value,
        "accumulator_bits": arch.accumulator_bits,
        "mac_energy": arch.mac_energy,
        "clock_hz": arch.clock_hz,
    }


def _level(level: MemoryLevel) -> dict[str, _Value]:
    return {
        "name": level.name,
        "holds": [operand.value for operand in level.holds],
        "capacity": level.capacity,
        "double_buffered": level.double_buffered,
        "read_bandwidth": level.read_bandwidth,
        "write_bandwidth": level.write_bandwidth,
        "shared_port": level.shared_port,
        "ports": level.ports,
        "word_bits": level.word_bits,
        "read_energy": level.read_energy,
        "write_energy": level.write_energy,
    }


def _fanout(fanout: Fanout) -> dict[str, _Value]:
    return {
        "name": fanout.name,
        "below": fanout.below,
        "size": fanout.size,
        "dims": [dim.value for dim in fanout.dims],
        "multicast": [operand.value for operand in fanout.multicast],
        "reduction": fanout.reduction,
        "link_bandwidth": fanout.link_bandwidth,
        "hop_energy": fanout.hop_energy,
    }


def _group(group: FanoutGroup) -> dict[str, _Value]:
    return {"fanouts": list(group.fanouts), "limit": group.limit}


def _npu(npu: Npu) -> dict[str, _Value]:
    return {"name": npu.name, "sizes": dict(npu.sizes)}


def _vector(arch: Architecture) -> dict[str, _Value]:
    unit = arch.vector
    return {
        "lanes": unit.lanes,
        "startup": unit.startup,
        "energy": unit.energy,
        "parameter_bytes": unit.parameter_bytes,
    }


def _table(head: str, keys: Mapping[str, _Value]) -> str:
    return f"{head}\n{_keys(keys)}"


def _keys(keys: Mapping[str, _Value]) -> str:
    return "".join(f"{key} = {_value(value)}\n" for key, value in keys.items() if value is not None)


def _value(value: _Value) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return json.dumps(value, ensure_ascii=False)
        case int() | float() | None:
            return repr(value)
        case Mapping():
            pairs = ", ".join(f"{key} = {item}" for key, item in value.items())
            return f"{{ {pairs} }}" if pairs else "{}"
        case _:
            return f"[{', '.join(_value(item) for item in value)}]"
