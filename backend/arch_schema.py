"""The TOML tables of an architecture file, validated, and the value that they build.

A file has the keys of :class:`ArchTable` at its top and one table per memory level, fan-out,
joint limit and NPU. Keys are the attributes of :class:`accnn.ir.arch.Architecture`; their units
stand there and in ``docs/architectures.md``. What is absent takes the default that is shown here.
"""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

from ..ir.arch import (
    Architecture,
    Dma,
    Fanout,
    FanoutGroup,
    MemoryLevel,
    Npu,
    Precision,
    VectorUnit,
)
from ..ir.workload import DIMS, Dim, Operand

Name = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]
ArchName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
Count = Annotated[int, Field(ge=1, le=2**40)]
Cycles = Annotated[int, Field(ge=0, le=2**40)]
Rate = Annotated[float, Field(ge=1e-6, le=1e15, allow_inf_nan=False)]
Energy = Annotated[float, Field(ge=0, le=1e15, allow_inf_nan=False)]
OperandName = Literal["W", "I", "O"]
DimName = Literal["R", "S", "P", "Q", "C", "K", "N", "G"]


def _distinct(names: list[str]) -> list[str]:
    if len(set(names)) != len(names):
        raise PydanticCustomError("repeated", "must not name anything twice")
    return names


Operands = Annotated[list[OperandName], AfterValidator(_distinct)]
Dims = Annotated[list[DimName], AfterValidator(_distinct)]


def _every_dim() -> list[DimName]:
    return [dim.value for dim in DIMS]


def _inputs() -> list[OperandName]:
    return ["W", "I"]


class Table(BaseModel):
    """A table without unknown keys and without silent conversions."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class LevelTable(Table):
    """``[[level]]``: one memory, outermost first."""

    name: Name
    holds: Annotated[Operands, Field(min_length=1)]
    capacity: Count | None = None
    double_buffered: bool = False
    read_bandwidth: Rate | None = None
    write_bandwidth: Rate | None = None
    shared_port: bool = False
    ports: Literal["npu"] | Count = "npu"
    word_bits: Count = 8
    read_energy: Energy = 0.0
    write_energy: Energy = 0.0

    def build(self) -> MemoryLevel:
        """Return the memory level."""
        return MemoryLevel(
            name=self.name,
            holds=tuple(Operand(name) for name in self.holds),
            capacity=self.capacity,
            double_buffered=self.double_buffered,
            read_bandwidth=self.read_bandwidth,
            write_bandwidth=self.write_bandwidth,
            shared_port=self.shared_port,
            ports=None if self.ports == "npu" else self.ports,
            word_bits=self.word_bits,
            read_energy=self.read_energy,
            write_energy=self.write_energy,
        )


class FanoutTable(Table):
    """``[[fanout]]``: one spatial dimension, outermost first."""

    name: Name
    below: Name
    size: Count
    dims: Annotated[Dims, Field(default_factory=_every_dim)]
    multicast: Annotated[Operands, Field(default_factory=_inputs)]
    reduction: bool = True
    link_bandwidth: Rate | None = None
    hop_energy: Energy = 0.0

    def build(self) -> Fanout:
        """Return the fan-out."""
        return Fanout(
            name=self.name,
            below=self.below,
            size=self.size,
            dims=tuple(Dim(name) for name in self.dims),
            multicast=tuple(Operand(name) for name in self.multicast),
            reduction=self.reduction,
            link_bandwidth=self.link_bandwidth,
            hop_energy=self.hop_energy,
        )


class GroupTable(Table):
    """``[[group]]``: a limit on the product of several fan-outs."""

    fanouts: Annotated[list[Name], Field(min_length=1)]
    limit: Count


class NpusTable(Table):
    """``[npus]``: equal NPUs ``npu0``, ``npu1``, ..."""

    count: Count = 1


class NpuTable(Table):
    """``[[npu]]``: one NPU; ``sizes`` replaces the size of some fan-outs."""

    name: Name
    sizes: Annotated[dict[str, Count], Field(default_factory=dict[str, int])]


class VectorTable(Table):
    """``[vector]``: the element-wise engine of each NPU."""

    lanes: Count = 16
    startup: Cycles = 8
    energy: Energy = 0.1
    parameter_bytes: Count = 65536


class DmaTable(Table):
    """``[dma]``: the engines between off-chip memory and the chip."""

    channels: Count = 1
    startup: Cycles = 16


class ArchTable(Table):
    """The whole file."""

    name: ArchName
    description: str = ""
    scratchpad: Name
    precision: Literal["int8", "fp32"] = "int8"
    accumulator_bits: Annotated[int, Field(ge=8, le=64)] = 32
    mac_energy: Energy = 0.0
    clock_hz: Rate = 1e9
    level: Annotated[list[LevelTable], Field(min_length=2)]
    fanout: Annotated[list[FanoutTable], Field(default_factory=list[FanoutTable])]
    group: Annotated[list[GroupTable], Field(default_factory=list[GroupTable])]
    npus: NpusTable | None = None
    npu: Annotated[list[NpuTable] | None, Field(min_length=1)] = None
    vector: VectorTable = VectorTable()
    dma: DmaTable = DmaTable()

    def build(self) -> Architecture:
        """Return the architecture, not yet verified."""
        return Architecture(
            name=self.name,
            levels=tuple(level.build() for level in self.level),
            scratchpad=self.scratchpad,
            fanouts=tuple(fanout.build() for fanout in self.fanout),
            groups=tuple(
                FanoutGroup(fanouts=tuple(group.fanouts), limit=group.limit) for group in self.group
            ),
            npus=self._build_npus(),
            precision=Precision(self.precision),
            accumulator_bits=self.accumulator_bits,
            mac_energy=self.mac_energy,
            clock_hz=self.clock_hz,
            vector=VectorUnit(
                lanes=self.vector.lanes,
                startup=self.vector.startup,
                energy=self.vector.energy,
                parameter_bytes=self.vector.parameter_bytes,
            ),
            dma=Dma(channels=self.dma.channels, startup=self.dma.startup),
        )

    def _build_npus(self) -> tuple[Npu, ...]:
        if self.npu is not None:
            return tuple(Npu(name=npu.name, sizes=tuple(npu.sizes.items())) for npu in self.npu)
        count = 1 if self.npus is None else self.npus.count
        return tuple(Npu(name=f"npu{index}") for index in range(count))


TABLES: dict[str, type[Table]] = {
    "level": LevelTable,
    "fanout": FanoutTable,
    "group": GroupTable,
    "npus": NpusTable,
    "npu": NpuTable,
    "vector": VectorTable,
    "dma": DmaTable,
}
"""The table that each key of the file's top opens."""
