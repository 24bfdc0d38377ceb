"""Tiny networks on machines whose scratchpads are too small for them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from accnn.backend.load import load_architecture
from accnn.ir.arch import Architecture
from accnn.ir.graph import Graph
from accnn.ir.mapping import LoopNest
from accnn.ir.module import Module
from accnn.ir.resources import Constants
from accnn.ir.types import DType, Quantization
from accnn.ir.workload import REDUCTION
from accnn.passes.base import Context
from accnn.passes.scheduling.across.schedule_across import ScheduleAcross
from accnn.passes.scheduling.map_operators import MapOperators
from accnn.passes.scheduling.schedule_in_order import ScheduleInOrder
from accnn.passes.scheduling.static.schedule_tiles import ScheduleTiles
from tests.inputs import Array
from tests.networks import NetworkBuilder, per_tensor
from tests.passes.scheduling.timing.floats import float_network

HOP_ENERGY = 0.3
"""Catalogue machines price no wires; these do [pJ/byte]."""


def halos() -> tuple[Graph, Mapping[str, Array]]:
    """Halo and stride, depthwise, a zero point of weights, a residual sum, a matrix product."""
    net = NetworkBuilder()
    x = net.input("x", (1, 12, 11, 11))
    a = net.conv(x, "a", 24, 3, stride=2)
    b = net.conv(a, "b", 24, 3, groups=24)
    net.constant("c_w", (24, 24, 1, 1), DType.S8, Quantization((0.002,), (7,)))
    c = net.op("conv2d", (a, "c_w"), "c", quant=per_tensor(0.05, -2))
    d = net.op("add", (b, c), "d", quant=per_tensor(0.1, 1))
    e = net.conv(d, "e", 20, 3)
    r = net.op("reshape", (e,), "r", {"shape": (1, 720)})
    return net.build(net.dense(r, "y", 37)), net.data


def deep() -> tuple[Graph, Mapping[str, Array]]:
    """Many input channels: sums wait in the scratchpad while weights pass. Averages of sums."""
    net = NetworkBuilder(1)
    x = net.input("x", (1, 64, 6, 6))
    a = net.conv(x, "a", 40, 3)
    b = net.conv(a, "b", 40, 1)
    y = net.op("mul", (a, b), "y", quant=per_tensor(0.2, -7))
    sums = net.sums(y, "sums", (1, 6))
    mean = net.op("global_avg_pool", (sums,), "mean", {"count": 6, "qlo": -1}, per_tensor(0.05, 2))
    return net.build(y, mean), net.data


@dataclass(frozen=True)
class Case:
    """A network to compile.

    Attributes:
        arch: Name of the catalogue.
        network: Which.
        budget: Scratchpad bytes to use [byte].
        sums_outside: Whether the outermost loop over a reduction comes first, so that unfinished
            sums wait in the scratchpad, or leave it.
    """

    arch: str
    network: str
    budget: int
    sums_outside: bool = False

    @property
    def machine(self) -> Architecture:
        """The accelerator, with wires that cost energy, and sums that instructions know."""
        arch = load_architecture(self.arch)
        fanouts = tuple(replace(item, hop_energy=HOP_ENERGY) for item in arch.fanouts)
        return replace(arch, fanouts=fanouts, accumulator_bits=max(24, arch.accumulator_bits))


NETWORKS = {"halos": halos, "deep": deep, "floats": lambda: float_network(6)}

CASES = (
    Case("simba", "halos", 3000, sums_outside=True),
    Case("simba", "halos", 3200),
    Case("edge-1m", "halos", 4000, sums_outside=True),
    Case("flexer-arch5", "deep", 8000, sums_outside=True),
    Case("eyeriss", "halos", 3000),
    Case("gpu-k80", "floats", 6000),
    Case("edge-fp32", "floats", 3000),
)


@cache
def network(name: str) -> tuple[Graph, Mapping[str, Array]]:
    """Return a network and its data."""
    return NETWORKS[name]()


@cache
def scheduled(case: Case) -> Module:
    """Return the network with the tiles of its operators in turn."""
    graph, data = network(case.network)
    module = Module(graph=graph, arch=case.machine, constants=Constants(data))
    module = ScheduleInOrder(scratchpad=str(case.budget)).run(module, Context())
    module = MapOperators(mapper="output-stationary").run(module, Context())
    if case.sums_outside:
        mappings = tuple(replace(item, nest=_sums_outside(item.nest)) for item in module.mappings)
        module = replace(module, mappings=mappings)
    return ScheduleTiles().run(module, Context())


def _sums_outside(nest: LoopNest) -> LoopNest:
    """Return a nest with the outermost loop over a reduction before all others."""
    outside = min(item.start for item in nest.allocations if item.level != "dram")
    for position, loop in enumerate(nest.temporal[:outside]):
        if loop.dim in REDUCTION:
            others = (*nest.temporal[:position], *nest.temporal[position + 1 :])
            return replace(nest, temporal=(loop, *others))
    return nest


@cache
def joined(case: Case) -> Module:
    """Return the network with tiles that cross operators."""
    return ScheduleAcross().run(scheduled(case), Context())


def halfway_biases() -> tuple[Graph, Mapping[str, Array], Array]:
    """Return a matrix product whose rounding depends on the last bit of the multiplier.

    The inputs, which are returned too, are zero; so every output is its bias times the multiplier,
    and the biases are chosen so that the order of the two operations of the multiplier matters.
    """
    rng = np.random.default_rng(5)
    channels = 16
    sx, sy = np.float32(0.05), np.float32(0.1)
    scales: list[float] = []
    biases: list[int] = []
    while len(scales) < channels:
        sw = np.float32(rng.uniform(0.0005, 0.001))
        left, right = (sx * sw) / sy, sx * (sw / sy)
        half = np.arange(0.5, 120.0).astype(np.float64)
        bias = np.rint(half / np.float64(left)).astype(np.int64)
        values = bias.astype(np.float32)
        (differ,) = np.nonzero(np.rint(values * left) != np.rint(values * right))
        if len(differ):
            scales.append(float(sw))
            biases.append(int(bias[differ[0]]))
    net = NetworkBuilder()
    x = net.input("x", (1, 8), 0)
    net.constant("w", (channels, 8), DType.S8, Quantization(tuple(scales), (0,) * channels, 0))
    net.constant("b", (channels,), DType.S32)
    net.data["b"] = np.array(biases, np.int32)
    y = net.op("dense", (x, "w", "b"), "y", quant=per_tensor(0.1, 0))
    return net.build(y), net.data, np.zeros((1, 8), np.int8)
