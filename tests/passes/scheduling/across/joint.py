"""Small networks with their tiles scheduled across operators, ready to run."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache

from accnn.backend.load import load_architecture
from accnn.backend.lowering.lower import lower
from accnn.compiler.verification.observe import observed
from accnn.ir.arch import Architecture
from accnn.ir.graph import Graph
from accnn.ir.module import Module
from accnn.ir.resources import Constants
from accnn.ir.tiles.schedule import TileSchedule
from accnn.passes.base import Context
from accnn.passes.manager import run_pipeline
from accnn.passes.pipeline import Pipeline
from accnn.passes.scheduling.across.schedule_across import ScheduleAcross
from accnn.passes.scheduling.map_operators import MapOperators
from accnn.passes.scheduling.schedule_in_order import ScheduleInOrder
from accnn.passes.scheduling.static.schedule_tiles import ScheduleTiles
from accnn.runtime_sim.reference.run import run as run_reference
from tests.flow import Array, Compiled, random_inputs
from tests.networks import NetworkBuilder, per_tensor
from tests.tiles import tiles_of


def chain(size: int = 14) -> tuple[Graph, Mapping[str, Array]]:
    """Halos, strides and 1x1, one after the other."""
    net = NetworkBuilder()
    x = net.input("x", (1, 8, size, size))
    a = net.conv(x, "a", 16, 3)
    b = net.conv(a, "b", 24, 3, stride=2)
    c = net.conv(b, "c", 16, 1)
    d = net.conv(c, "d", 16, 3, stride=3)
    return net.build(d), net.data


def branches(size: int = 12) -> tuple[Graph, Mapping[str, Array]]:
    """A fire module and a residual block."""
    net = NetworkBuilder()
    x = net.input("x", (1, 16, size, size))
    squeezed = net.conv(x, "squeeze", 8, 1)
    one = net.conv(squeezed, "one", 16, 1)
    three = net.conv(squeezed, "three", 16, 3)
    fire = net.op("concat", (one, three), "fire", {"axis": 1}, per_tensor(0.08, 5))
    left = net.conv(fire, "left", 24, 3, stride=2)
    right = net.conv(fire, "right", 24, 1, stride=2)
    y = net.op("add", (left, right), "y", quant=per_tensor(0.1, 1))
    return net.build(y, fire), net.data


@dataclass(frozen=True)
class Both:
    """One network layer by layer and across operators."""

    in_turn: Module
    across: Module
    compiled: Compiled

    @property
    def schedule(self) -> TileSchedule:
        """The tiles that cross operators."""
        return tiles_of(self.across)


@cache
def both_of(
    make: Callable[[], tuple[Graph, Mapping[str, Array]]],
    arch: Architecture | str,
    *,
    budget: int | None = None,
    all_off_chip: bool = True,
) -> Both:
    """Schedule the network that a function makes, once for all tests that look at it."""
    return both(make(), arch, budget=budget, all_off_chip=all_off_chip)


def both(
    network: tuple[Graph, Mapping[str, Array]],
    arch: Architecture | str,
    *,
    budget: int | None = None,
    all_off_chip: bool = True,
) -> Both:
    """Schedule a network both ways and lower what crosses operators."""
    graph, data = network
    machine = load_architecture(arch) if isinstance(arch, str) else arch
    source = Module(graph=graph, arch=machine, constants=Constants(data))
    passes = (
        ScheduleInOrder(scratchpad=None if budget is None else str(budget)),
        MapOperators(mapper="output-stationary"),
        ScheduleTiles(),
    )
    in_turn = run_pipeline(Pipeline(passes), source).module
    across = ScheduleAcross().run(in_turn, Context())
    shown = observed(across) if all_off_chip else across
    lowered = lower(shown)
    lowered.program.verify()
    constants = shown.constants.with_arrays(lowered.derived)
    inputs = random_inputs(graph, 0)
    expected = run_reference(graph, source.constants, inputs)
    module = replace(shown, program=lowered.program, constants=constants)
    return Both(in_turn, across, Compiled(module, inputs, expected))
