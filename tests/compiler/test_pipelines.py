"""The default pipeline: what it makes of graphs that say too much, and what it refuses."""

import pytest

from accnn.compiler.options import CompileOptions
from accnn.compiler.pipelines import default_pipeline
from accnn.ir.errors import OptionError
from accnn.ir.graph import Attr
from tests.flow import compile_graph
from tests.networks import NetworkBuilder, per_tensor


def test_the_graph_is_cleaned_up_and_computes_the_same():
    net = NetworkBuilder()
    x = net.input("x", (1, 8, 10, 10))
    a = net.conv(x, "a", 8, 3)
    same = net.op("reshape", (a,), "same", {"shape": (1, 8, 10, 10)}, per_tensor(0.08, 5))
    pool: dict[str, Attr] = {"kernel": (2, 2), "stride": (2, 2)}
    first = net.op("max_pool", (same,), "first", pool)
    second = net.op("max_pool", (a,), "second", pool)
    net.conv(first, "unread", 8, 1)
    y = net.op("add", (first, second), "y", quant=per_tensor(0.1, 1))

    compiled = compile_graph(net.build(y), net.data, "simba")

    assert [op.name for op in compiled.module.graph.ops] == ["a", "first", "y"]
    assert compiled.wrong(compiled.run()) == []


@pytest.mark.parametrize("mapper", ["cosa", "salsa"])
def test_other_mappers_compile_what_is_equal_to_the_reference(mapper: str):
    net = NetworkBuilder()
    x = net.input("x", (1, 8, 10, 10))
    y = net.conv(net.conv(x, "a", 24, 3), "y", 12, 3, stride=2)

    compiled = compile_graph(net.build(y), net.data, "simba", budget=4096, mapper=mapper)

    assert compiled.wrong(compiled.run(detect_races=True)) == []


def test_what_does_not_exist_is_refused():
    with pytest.raises(OptionError, match="no mapper named 'magic'"):
        default_pipeline(CompileOptions(mapper="magic"))
    with pytest.raises(OptionError, match="no scheduler named 'magic'"):
        default_pipeline(CompileOptions(scheduler="magic"))
