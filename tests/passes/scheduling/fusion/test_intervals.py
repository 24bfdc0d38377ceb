"""What groups are compared with: the cycles of their members, one by one."""

import pytest

from accnn.ir.graph_schedule import GraphSchedule, Group
from accnn.passes.scheduling.cosma.refine import Measured
from accnn.passes.scheduling.fusion.intervals import cycles_alone, saved_alone, saved_together

PLAN = GraphSchedule(budget=1, order=("good", "bad"))
BASE = Measured(plan=PLAN, cost=0, times=(150.0, 1000.0), prospects=(100.0, 200.0))


def test_of_bad_nests_most_of_the_excess_is_saved():
    assert saved_alone(BASE, 1) == pytest.approx(720)


def test_of_good_nests_nothing_is_saved():
    assert saved_alone(BASE, 0) == 0


def test_stripes_are_compared_with_what_their_members_may_come_down_to():
    group = Group(members=("good", "bad"), rows=2)

    assert cycles_alone(BASE, group) == pytest.approx((150 + 100) / 2 + 1000 - 720)


def test_whole_tensors_are_compared_with_what_their_members_take():
    group = Group(members=("good", "bad"))

    assert cycles_alone(BASE, group) == pytest.approx(150 + 1000 - 720)


def test_stripes_save_what_they_lose_by_the_same_bad_nests():
    assert saved_together(BASE, (("bad", 1100),)) == pytest.approx(990)


def test_stripes_save_nothing_of_members_that_have_good_nests_alone():
    assert saved_together(BASE, (("good", 1100),)) == 0
