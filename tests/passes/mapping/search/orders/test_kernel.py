"""What the kernel is compiled from, and the records that it works on."""

from typing import get_type_hints

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.workload import Workload
from accnn.passes.mapping.problem import MappingProblem, Objective
from accnn.passes.mapping.search.orders.kernel import records
from accnn.passes.mapping.search.orders.machine import UnrolledProblem


@pytest.mark.parametrize(
    ("described", "record"),
    [
        (records.MachineRecord, records.machine_of({})),
        (records.Loops, records.loops_of({})),
        (records.TileRecord, records.new_tiles(1)[0, 0]),
        (records.OrderRecord, records.new_state()),
    ],
)
def test_records_have_the_fields_that_are_described(described, record):
    assert set(record.dtype.names) == set(get_type_hints(described))
    for name in record.dtype.names:
        assert f"{name}: " in described.__doc__


@pytest.mark.parametrize("name", ["simba", "eyeriss", "edge-1m", "gpu-k80", "flexer-arch5"])
def test_every_machine_has_room_in_the_records(name):
    arch = load_architecture(f"{name}.toml")
    problem = UnrolledProblem(
        problem=MappingProblem(
            workload=Workload(K=2), arch=arch.for_npu(arch.npus[0]), objective=Objective.ENERGY
        ),
        spatial=(),
    )

    assert problem.machine.chain.max() <= records.MOST_DEPTH
