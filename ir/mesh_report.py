"""What a run over the mesh tells: where operators wait, and which links are busy."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class MeshOperator:
    """An operator over the mesh; all in cycles.

    The time of the MAC array is computing, or waiting for one of the others.

    Attributes:
        name: Its name.
        cycles: From its first instruction's start to its last one's end.
        analytical_cycles: The same where bandwidths alone count.
        compute: The array computes, the ports of its own memories included.
        weights: It waits for weights: their way over the mesh.
        inputs: It waits for inputs, within an instruction or for a copy.
        sums: It waits for partial sums: for a place for new ones, for old ones, or until the
            vector units have taken them.
        dram: It waits for a copy that waits for the off-chip memory.
        other: It waits for something else, e.g. a copy on the chip.
    """

    name: str
    cycles: int
    analytical_cycles: int
    compute: int = 0
    weights: int = 0
    inputs: int = 0
    sums: int = 0
    dram: int = 0
    other: int = 0

    @property
    def array_cycles(self) -> int:
        """What the array's time for it comes to."""
        waits = self.weights + self.inputs + self.sums + self.dram + self.other
        return self.compute + waits


@dataclass(frozen=True, slots=True, kw_only=True)
class MeshLink:
    """A link between routers and what it carried.

    Attributes:
        begin: Column and row of the router that it leaves.
        end: Those of the router that it goes to.
        flits: Flits of the whole run.
    """

    begin: tuple[int, int]
    end: tuple[int, int]
    flits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OffChipUse:
    """What the off-chip memory did, where the machine's file says how it works.

    Attributes:
        rows: Rows that were opened.
        read_bursts: Bursts read.
        written_bursts: Bursts written.
        activate_pj: Energy of opening and closing rows; 0 where the file prices no commands [pJ].
        read_pj: Energy of the bursts read [pJ].
        write_pj: Energy of the bursts written [pJ].
    """

    rows: int
    read_bursts: int
    written_bursts: int
    activate_pj: float
    read_pj: float
    write_pj: float

    @property
    def pj(self) -> float:
        """Energy of all commands [pJ]."""
        return self.activate_pj + self.read_pj + self.write_pj


@dataclass(frozen=True, slots=True, kw_only=True)
class MeshReport:
    """A run over the mesh.

    Attributes:
        columns: Routers of a row.
        rows: Rows of routers.
        cycles: Of the run.
        analytical_cycles: Of the same program where bandwidths alone count.
        serial_cycles: Of the same instructions over the mesh one after the other.
        operators: Those with instructions, in order.
        links: Between routers, those that carried flits.
        hop_flits: Flits over all links between routers, one for each hop.
        network_pj: Their energy; 0 where the machine's file prices no hop [pJ].
        memory: What the off-chip memory did; absent without a ``[dram]`` table.
    """

    columns: int
    rows: int
    cycles: int
    analytical_cycles: int
    serial_cycles: int
    operators: tuple[MeshOperator, ...]
    links: tuple[MeshLink, ...]
    hop_flits: int
    network_pj: float
    memory: OffChipUse | None = None
