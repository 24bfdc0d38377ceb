"""One convolution alone on a machine, for tests of the out-of-order scheduler."""

from dataclasses import replace

from accnn.backend.load import load_architecture
from accnn.ir.arch import Architecture
from accnn.ir.graph import Graph
from accnn.ir.graph_schedule import GraphSchedule, Stream, Workspace
from accnn.ir.module import Module
from accnn.ir.resources import Constants
from accnn.passes.scheduling.flexer.site import Site, site_of
from tests.networks import NetworkBuilder


def machine(capacity: int, npus: int | None = None, name: str = "flexer-arch5") -> Architecture:
    """A machine of the catalogue with another scratchpad size and number of NPUs."""
    arch = load_architecture(name)
    levels = tuple(
        replace(level, capacity=capacity) if level.name == arch.scratchpad else level
        for level in arch.levels
    )
    return replace(arch, levels=levels, npus=arch.npus[:npus])


def convolution(
    size: int, inputs: int, outputs: int, kernel: int, *, stride: int = 1, groups: int = 1
) -> NetworkBuilder:
    net = NetworkBuilder()
    net.input("x", (1, inputs, size, size))
    net.conv("x", "y", outputs, kernel, stride=stride, groups=groups)
    return net


def alone(net: NetworkBuilder, arch: Architecture) -> Module:
    """The module of one operator that streams everything."""
    graph = net.build("y")
    capacity = arch.scratchpad_level.capacity or 0
    plan = GraphSchedule(
        budget=capacity,
        order=("y",),
        workspaces=(Workspace(step=0, address=0, bytes=capacity),),
        streams=tuple(
            Stream(tensor=name, step=0, bytes=graph.types[name].bytes) for name in ("x", "y")
        ),
    )
    return Module(graph=graph, arch=arch, graph_schedule=plan, constants=Constants(net.data))


def site(net: NetworkBuilder, arch: Architecture) -> Site:
    module = alone(net, arch)
    assert module.graph_schedule is not None
    graph: Graph = module.graph
    return site_of(graph, module.graph_schedule, graph.producer["y"], arch)
