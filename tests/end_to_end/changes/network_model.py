"""A bus: all that NPUs and DMA engines move to and from the scratchpad shares its bandwidth."""

from tests.end_to_end.changes.change import Change, Edit

_WORK = '''    def of(self, event: Event, npu: int) -> Work:
        """Return the work of an event, the bytes that cross the bus included.

        Args:
            event: The event.
            npu: As of ``_of``.
        """
        work = self._of(event, npu)
        pad = self.arch.scratchpad
        crossing = sum(size for port, size in work.moved if port.split(".")[-2] == pad)
        if self.arch.bus_bandwidth is None or not crossing:
            return work
        return replace(work, moved=(*work.moved, ("bus", crossing)))

    def _of(self, event: Event, npu: int) -> Work:
'''

_DEMANDS = '''    def work(self, queue: int, instruction: AnyInstruction) -> Demand:
        """Return what an instruction of a queue asks for, the bytes on the bus included."""
        work, bus = self._work(queue, instruction), self.ports.number("bus")
        pad = self._arch.scratchpad
        crossing = sum(
            size
            for port, size in work.demands
            if self.ports.ports[port].name.split(".")[-2] == pad
        )
        if bus is None or not crossing:
            return work
        return replace(work, demands=(*work.demands, (bus, crossing)))

    def _work(self, queue: int, instruction: AnyInstruction) -> Demand:
'''


def prove() -> None:
    """The compiler's clock and the simulator's agree, and a narrow bus slows both down."""
    from pathlib import Path
    from tempfile import TemporaryDirectory

    from accnn.backend.load import load_architecture
    from tests.flow import compile_graph
    from tests.networks import NetworkBuilder
    from tests.timed import program_cycles

    net = NetworkBuilder()
    x = net.conv(net.input("x", (1, 8, 10, 10)), "a", 16, 3)
    net.conv(x, "y", 8, 1)
    source = Path(load_architecture.__code__.co_filename).with_name("targets") / "simba.toml"
    cycles: dict[str, int] = {}
    with TemporaryDirectory() as folder:
        for line in ("", "bus_bandwidth = 4.0\n"):
            file = Path(folder) / "bus.toml"
            file.write_text(line + source.read_text())
            compiled = compile_graph(net.build("y"), net.data, str(file))
            schedule = compiled.module.tile_schedule
            assert schedule is not None
            cycles[line] = program_cycles(compiled.program)
            assert schedule.cycles == cycles[line]
    first, second = cycles.values()
    assert second > 2 * first


CHANGE = Change(
    row="a network model in the timing",
    edits=(
        Edit(
            "ir/arch.py",
            "    clock_hz: Rate = 1e9\n",
            "    clock_hz: Rate = 1e9\n    bus_bandwidth: Rate | None = None\n",
        ),
        Edit(
            "passes/scheduling/timing/ports.py",
            "        return found\n\n    @cached_property\n    def _owners",
            "        if arch.bus_bandwidth is not None:\n"
            '            found["bus"] = arch.bus_bandwidth\n'
            "        return found\n\n    @cached_property\n    def _owners",
        ),
        Edit(
            "passes/scheduling/timing/work.py",
            "from dataclasses import dataclass, field\n",
            "from dataclasses import dataclass, field, replace\n",
        ),
        Edit(
            "passes/scheduling/timing/work.py",
            "    def of(self, event: Event, npu: int) -> Work:\n",
            _WORK,
        ),
        Edit(
            "runtime_sim/timing/ports.py",
            "    return PortTable(tuple(specs))\n",
            "    if arch.bus_bandwidth is not None:\n"
            '        specs.append(PortSpec("bus", arch.bus_bandwidth))\n'
            "    return PortTable(tuple(specs))\n",
        ),
        Edit(
            "runtime_sim/timing/demands.py",
            "from fractions import Fraction\n",
            "from dataclasses import replace\nfrom fractions import Fraction\n",
        ),
        Edit(
            "runtime_sim/timing/demands.py",
            "    def work(self, queue: int, instruction: AnyInstruction) -> Demand:\n",
            _DEMANDS,
        ),
    ),
    proof=prove,
)
