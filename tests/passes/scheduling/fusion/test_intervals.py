"""What groups are compared with: the cycles of their members, one by one."""

import pytest

from accnn.ir.graph_schedule import GraphSchedule, Group
from accnn.passes.scheduling.cosma.refine import Measured
from accnn.passes.scheduling.fusion.intervals import cycles_alone

PLAN = GraphSchedule(budget=1, order=("good", "bad"))
BASE = Measured(plan=PLAN, cost=0, times=(150.0, 1000.0), prospects=(100.0, 200.0))


def test_stripes_are_compared_with_what_their_members_may_come_down_to():
    group = Group(members=("good", "bad"), rows=2)

    assert cycles_alone(BASE, group) == pytest.approx((150 + 100) / 2 + (1000 + 200) / 2)


def test_whole_tensors_are_compared_with_what_their_members_take():
    group = Group(members=("good", "bad"))

    assert cycles_alone(BASE, group) == pytest.approx(150 + 1000)
