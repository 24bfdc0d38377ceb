"""The ports of a machine as schedules see them: names and bandwidths.

Off-chip memory and the scratchpad have a port for reads and one for writes, or one for both. The
scratchpad's stand once in every NPU, unless its banks are shared by all. Memories and links of an
array belong to its NPU and are as fast as one instance. What has no bandwidth is no port.
"""

from functools import cached_property

from ....ir.arch import Architecture, MemoryLevel
from ...analysis.traffic import Direction


class Ports:
    """Names the ports that bytes pass.

    Attributes:
        arch: The machine.
    """

    def __init__(self, arch: Architecture) -> None:
        self.arch = arch

    @cached_property
    def bandwidths(self) -> dict[str, float]:
        """Bandwidth of every port that has one [byte/cycle]."""
        arch, pad = self.arch, self.arch.scratchpad_level
        found = _sides(arch.off_chip, "", 1)
        for owner in self._owners:
            found |= _sides(pad, owner, pad.ports or 1)
        for npu in range(len(arch.npus)):
            for level in arch.levels[arch.index(arch.scratchpad) + 1 :]:
                found |= _sides(level, self._array(npu), 1)
            for fanout in arch.fanouts:
                if fanout.link_bandwidth is not None:
                    for way in (Direction.DOWN, Direction.UP):
                        found[f"{self._array(npu)}{fanout.name}.{way}"] = fanout.link_bandwidth
        return found

    @cached_property
    def _owners(self) -> tuple[str, ...]:
        """Names before the scratchpad's ports; one that is empty where all NPUs share them."""
        if self.arch.scratchpad_level.ports is not None:
            return ("",)
        return tuple(map(self._array, range(len(self.arch.npus))))

    def _array(self, npu: int) -> str:
        return f"{self.arch.npus[npu].name}." if len(self.arch.npus) > 1 else ""

    def off_chip(self, way: Direction) -> tuple[str, ...]:
        """Return the port of off-chip memory in one direction."""
        return self._known(_name(self.arch.off_chip, way))

    def scratchpad(self, way: Direction, npu: int | None = None) -> tuple[str, ...]:
        """Return the ports over which an NPU's bytes spread evenly, or those of a DMA engine.

        Args:
            way: Read or write.
            npu: Whose; a DMA engine uses those of all.
        """
        pad = self.arch.scratchpad_level
        owners = self._owners if npu is None or len(self._owners) == 1 else (self._array(npu),)
        return self._known(*(owner + _name(pad, way) for owner in owners))

    def inside(self, place: str, way: Direction, npu: int) -> tuple[str, ...]:
        """Return the port of a memory or link of an NPU's array.

        Args:
            place: Memory level or fan-out; the scratchpad counts as the NPU sees it.
            way: Read or write of a memory, down or up over links.
            npu: Whose.
        """
        if place == self.arch.scratchpad:
            return self.scratchpad(way, npu)
        if place in self.arch.level_names:
            return self._known(self._array(npu) + _name(self.arch.level(place), way))
        return self._known(f"{self._array(npu)}{place}.{way}")

    def _known(self, *names: str) -> tuple[str, ...]:
        return tuple(name for name in names if name in self.bandwidths)


def _name(level: MemoryLevel, way: Direction) -> str:
    return f"{level.name}.port" if level.shared_port else f"{level.name}.{way}"


def _sides(level: MemoryLevel, owner: str, banks: int) -> dict[str, float]:
    """Return the ports of a memory; interleaved banks are one port of their joint bandwidth."""
    sides = ((Direction.READ, level.read_bandwidth), (Direction.WRITE, level.write_bandwidth))
    if level.shared_port:
        sides = sides[:1]
    return {owner + _name(level, way): bw * banks for way, bw in sides if bw is not None}
