"""The compiled scheduler: a tile problem to a schedule, in a given order or out of order."""

from .arrays import Choice, Goal, Problem, State
from .drive import result_of, schedule_freely, schedule_in_order
from .goal import metric

__all__ = [
    "Choice",
    "Goal",
    "Problem",
    "State",
    "metric",
    "result_of",
    "schedule_freely",
    "schedule_in_order",
]
