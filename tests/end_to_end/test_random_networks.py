"""Random int8 networks on random budgets: every tensor equals NumPy's, in every legal order."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accnn.ir.errors import InfeasibleError
from accnn.ir.graph import Attr
from accnn.ir.types import DType
from tests.flow import compile_graph
from tests.networks import NetworkBuilder, per_tensor
from tests.thinned import examples

ARCHS = ("simba", "edge-1m", "flexer-arch5", "gpu-k80")
SCALES = (0.02, 0.05, 0.11)


class Grower:
    """Adds operators to a network that Hypothesis chooses."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.net = NetworkBuilder(draw(st.integers(0, 5)))
        shape = (1, draw(st.integers(1, 12)), draw(st.integers(3, 15)), draw(st.integers(3, 15)))
        self.images = [self.net.input("x", shape)]
        self.count = 0

    def quant(self):
        return per_tensor(self.draw(st.sampled_from(SCALES)), self.draw(st.integers(-9, 9)))

    def name(self) -> str:
        self.count += 1
        return f"t{self.count}"

    def shape(self, name: str) -> tuple[int, ...]:
        return self.net.types[name].shape

    def grow(self) -> None:
        source = self.draw(st.sampled_from(self.images))
        kinds = ("conv", "conv", "binary", "pool", "global_pool", "concat", "lookup", "transpose")
        name = getattr(self, self.draw(st.sampled_from(kinds)))(source)
        self.images.append(name)

    def window(self, source: str):
        _, _, height, width = self.shape(source)
        kernel = (
            self.draw(st.integers(1, min(3, height))),
            self.draw(st.integers(1, min(3, width))),
        )
        dilation = (
            self.draw(st.integers(1, 2)) if 2 * (kernel[0] - 1) < height else 1,
            self.draw(st.integers(1, 2)) if 2 * (kernel[1] - 1) < width else 1,
        )
        return {
            "stride": (self.draw(st.integers(1, 3)), self.draw(st.integers(1, 3))),
            "dilation": dilation,
            "pads": tuple(self.draw(st.integers(0, kernel[axis % 2] - 1)) for axis in range(4)),
        }, kernel

    def conv(self, source: str) -> str:
        name = self.name()
        attrs, kernel = self.window(source)
        channels = self.shape(source)[1]
        groups = self.draw(st.sampled_from([g for g in (1, 2, channels) if channels % g == 0]))
        outputs = groups * self.draw(st.integers(1, 20 // groups + 1))
        self.net._weights(name, (outputs, channels // groups, *kernel))
        operands = (source, f"{name}_w", f"{name}_b")
        attrs = {**attrs, "groups": groups}
        return self.net.op("conv2d", operands, name, attrs, self.quant())

    def binary(self, source: str) -> str:
        shape = self.shape(source)
        others = [
            other
            for other in self.images
            if all(a in (1, b) for a, b in zip(self.shape(other), shape, strict=True))
        ]
        other = self.draw(st.sampled_from(others))
        operands = (source, other) if self.draw(st.booleans()) else (other, source)
        kind = self.draw(st.sampled_from(("add", "mul")))
        return self.net.op(kind, operands, self.name(), quant=self.quant())

    def pool(self, source: str) -> str:
        attrs, kernel = self.window(source)
        attrs = {**attrs, "kernel": kernel}
        if self.draw(st.booleans()):
            return self.net.op("max_pool", (source,), self.name(), attrs)
        attrs = {**attrs, "dilation": (1, 1), "count_include_pad": self.draw(st.booleans())}
        return self.net.op("avg_pool", (source,), self.name(), attrs, self.net.types[source].quant)

    def global_pool(self, source: str) -> str:
        if self.draw(st.booleans()):
            return self.net.op("global_avg_pool", (source,), self.name(), quant=self.quant())
        columns, sums = self.shape(source)[3], self.name()
        self.net.sums(source, sums, (1, columns))
        attrs: dict[str, Attr] = {"count": columns}
        return self.net.op("global_avg_pool", (sums,), self.name(), attrs, self.quant())

    def concat(self, source: str) -> str:
        mine = self.net.types[source]
        same = [
            other
            for other in self.images
            if self.net.types[other].quant == mine.quant and self.shape(other)[2:] == mine.shape[2:]
        ]
        others = self.draw(st.lists(st.sampled_from(same), min_size=1, max_size=2))
        return self.net.op("concat", (source, *others), self.name(), {"axis": 1})

    def lookup(self, source: str) -> str:
        name = self.name()
        self.net.constant(f"{name}_t", (256,), DType.S8)
        return self.net.op("lookup", (source, f"{name}_t"), name, quant=self.quant())

    def transpose(self, source: str) -> str:
        perm = self.draw(st.sampled_from(((0, 1, 3, 2), (0, 2, 1, 3), (0, 3, 2, 1))))
        return self.net.op("transpose", (source,), self.name(), {"perm": perm})

    def finish(self):
        last = self.images[-1]
        if self.draw(st.booleans()):
            features = 1
            for extent in self.shape(last):
                features *= extent
            flat = self.net.op("reshape", (last,), self.name(), {"shape": (1, features)})
            last = self.net.dense(flat, self.name(), self.draw(st.integers(1, 40)))
        return self.net.build(last), self.net.data


@st.composite
def networks(draw):
    grower = Grower(draw)
    for _ in range(draw(st.integers(1, 6))):
        grower.grow()
    return grower.finish()


def check(network, arch: str, budget: int | None, order: int) -> None:
    graph, data = network
    try:
        compiled = compile_graph(graph, data, arch, budget=budget)
    except InfeasibleError:
        assert budget is not None and budget < 2000
        return
    result = compiled.run(detect_races=True)
    assert compiled.wrong(result) == []
    shuffled = compiled.run(interleaving_seed=order)
    assert compiled.wrong(shuffled) == []
    assert shuffled.cycles == result.cycles


BUDGETS = st.one_of(st.none(), st.integers(300, 40_000))
SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.data_too_large]


@settings(max_examples=examples(60), deadline=None, suppress_health_check=SLOW_IS_FINE)
@given(networks(), st.sampled_from(ARCHS), BUDGETS, st.integers(0, 9))
def test_random_networks_equal_numpy(network, arch: str, budget: int | None, order: int):
    check(network, arch, budget, order)
