"""The smallest scratchpad that would do, and who needs it."""

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.errors import InfeasibleError
from accnn.models.onnx_import import import_model
from accnn.passes.scheduling.cosma.schedule import Cosma
from tests.compiler.cli.nets import tiny


@pytest.mark.parametrize("budget", [1, 100])
def test_what_is_told_to_do_does_and_a_byte_less_does_not(budget: int) -> None:
    graph, arch = import_model(tiny()).graph, load_architecture("edge-fp32")

    with pytest.raises(InfeasibleError, match="%c|%y") as caught:
        Cosma(arch=arch, budget=budget).plan(graph)

    shortage = caught.value.shortage
    assert shortage is not None
    assert (shortage.resource, shortage.capacity) == ("gb", budget)
    assert f"{shortage.demand} byte are the least that COSMA can plan with" in str(caught.value)
    assert Cosma(arch=arch, budget=shortage.demand).plan(graph).budget == shortage.demand
    with pytest.raises(InfeasibleError) as again:
        Cosma(arch=arch, budget=shortage.demand - 1).plan(graph)
    assert again.value.shortage is not None
    assert again.value.shortage.demand == shortage.demand
