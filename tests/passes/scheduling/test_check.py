"""A result may lie in the place of an operand that it is made of element by element, and no other.

The rest of what the checker refuses is in ``test_in_order.py``.
"""

from dataclasses import replace

import pytest

from accnn.ir.errors import VerifyError
from accnn.ir.graph import Graph
from accnn.ir.graph_schedule import GraphSchedule, Group, Residence, Transfer, Workspace
from accnn.passes.scheduling.check import check_schedule
from tests.networks import NetworkBuilder, per_tensor

SIZE = 8 * 6 * 6


def network(*, read_again: bool = False) -> Graph:
    """Return what adds to an image ``x`` its maxima ``b`` in ``y``, of which ``z`` has maxima."""
    net = NetworkBuilder()
    x = net.input("x", (1, 8, 6, 6))
    attrs = {"kernel": (3, 3), "stride": (1, 1), "pads": (1, 1, 1, 1)}
    b = net.op("max_pool", (x,), "b", attrs)
    y = net.op("add", (b, x), "y", quant=per_tensor(0.1))
    z = net.op("max_pool", (y,), "z", attrs)
    return net.build(net.op("add", (z, b), "end", quant=per_tensor(0.1)) if read_again else z)


def residence(tensor: str, first: int, last: int, address: int) -> Residence:
    return Residence(tensor=tensor, first_step=first, last_step=last, address=address, bytes=SIZE)


def moved(tensor: str, step: int) -> Transfer:
    return Transfer(tensor=tensor, step=step, bytes=SIZE)


PLAN = GraphSchedule(
    budget=2 * SIZE,
    order=("b", "y", "z"),
    residences=(
        residence("x", 0, 1, 0),
        residence("b", 0, 1, SIZE),
        residence("y", 1, 2, 0),
        residence("z", 2, 2, SIZE),
    ),
    loads=(moved("x", 0),),
    stores=(moved("z", 2),),
)
"""``y`` is written over ``x``."""


def with_place(tensor: str, changed: Residence) -> GraphSchedule:
    places = (changed if item.tensor == tensor else item for item in PLAN.residences)
    return replace(PLAN, residences=tuple(places))


def test_a_sum_may_be_written_over_either_operand():
    account = check_schedule(network(), PLAN)

    assert account.total == account.compulsory == 2 * SIZE
    other = replace(
        PLAN,
        residences=(
            *PLAN.residences[:2],
            residence("y", 1, 2, SIZE),
            residence("z", 2, 2, 0),
        ),
    )
    check_schedule(network(), other)
    check_schedule(network(), replace(other, residences=other.residences[::-1]))


def test_a_maximum_over_windows_may_not():
    over = with_place("z", residence("z", 2, 2, 0))

    with pytest.raises(VerifyError, match="%y and %z overlap at step 2, where %z cannot write one"):
        check_schedule(network(), over)


def test_nor_a_group_that_reads_it_in_windows_too():
    group = Group(members=("b", "y"))
    places = (residence("x", 0, 0, 0), residence("y", 0, 1, 0), residence("z", 1, 1, SIZE))
    plan = replace(
        PLAN,
        order=("y", "z"),
        groups=(group,),
        residences=places,
        stores=(moved("z", 1),),
    )

    with pytest.raises(VerifyError, match="%x and %y overlap at step 0, where %y cannot write one"):
        check_schedule(network(), plan)


@pytest.mark.parametrize("address", [SIZE // 2, SIZE - 1])
def test_two_tensors_may_not_share_a_part(address: int):
    with pytest.raises(VerifyError, match="y and [xb] overlap at step 1"):
        check_schedule(network(), with_place("y", residence("y", 1, 2, address)))


def test_nor_for_longer_than_one_step():
    with pytest.raises(VerifyError, match="y and x overlap at step 1"):
        check_schedule(network(), with_place("x", residence("x", 0, 2, 0)))


def test_what_was_written_over_can_be_neither_spilled_nor_stored():
    graph = network(read_again=True)
    plan = replace(
        PLAN,
        order=("b", "y", "z", "end"),
        residences=(
            *PLAN.residences[:2],
            residence("y", 1, 2, SIZE),
            residence("z", 2, 3, 0),
            residence("b", 3, 3, SIZE),
            residence("end", 3, 3, 0),
        ),
        spills=(moved("b", 2),),
        retrieves=(moved("b", 3),),
        stores=(moved("end", 3),),
    )

    with pytest.raises(VerifyError, match="%b is spilled at step 2 but is not resident"):
        check_schedule(graph, plan)
    stored = replace(graph, outputs=("b", "end"))
    early = replace(plan, spills=(), stores=(moved("b", 1), moved("end", 3)))
    with pytest.raises(VerifyError, match="output %b is stored at step 1 but is not resident"):
        check_schedule(stored, early)
    check_schedule(stored, replace(early, stores=(moved("b", 0), moved("end", 3))))


def test_a_workspace_may_be_in_nobodys_place():
    plan = replace(PLAN, workspaces=(Workspace(step=1, address=SIZE, bytes=SIZE),))
    with pytest.raises(VerifyError, match="the workspace and b overlap at step 1"):
        check_schedule(network(), plan)
    two = Workspace(step=1, address=2 * SIZE, bytes=8)
    with pytest.raises(VerifyError, match="a step has two workspaces"):
        check_schedule(network(), replace(plan, budget=3 * SIZE, workspaces=(two, two)))
