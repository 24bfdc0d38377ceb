"""Small passes that tests of pipelines and of the manager run."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import ClassVar

from accnn.ir.errors import InfeasibleError, OptionError
from accnn.ir.graph_schedule import GraphSchedule
from accnn.ir.module import Module, Stage
from accnn.passes.base import Context, Pass


class Mood(StrEnum):
    CALM = "calm"
    WILD = "wild-ish"


@dataclass(frozen=True, kw_only=True)
class TuneAll(Pass):
    """Take every type of option and do nothing.

    More words.
    """

    name: ClassVar[str] = "tune-all"

    budget: int = 8
    factor: float = 1.5
    fast: bool = False
    label: str = "plain"
    mood: Mood = Mood.CALM
    limit: int | None = None
    note: str | None = "x"

    def __post_init__(self) -> None:
        if self.budget < 0:
            raise OptionError(f"budget is {self.budget}, must be 0 or more")

    def run(self, module: Module, ctx: Context) -> Module:
        ctx.counters.add("seen", len(module.graph.ops))
        return module


@dataclass(frozen=True, kw_only=True)
class RenameGraph(Pass):
    """Give the graph another name."""

    name: ClassVar[str] = "rename-graph"
    gives: ClassVar[frozenset[Stage]] = frozenset({Stage.GRAPH})

    to: str = "renamed"

    def run(self, module: Module, ctx: Context) -> Module:
        if module.graph.name == self.to:
            return module
        ctx.counters.add("renamed")
        return replace(module, graph=replace(module.graph, name=self.to))


@dataclass(frozen=True, kw_only=True)
class NeedPlan(Pass):
    """Need a graph schedule."""

    name: ClassVar[str] = "need-plan"
    needs: ClassVar[frozenset[Stage]] = frozenset({Stage.GRAPH, Stage.GRAPH_SCHEDULE})

    def run(self, module: Module, ctx: Context) -> Module:
        return module


@dataclass(frozen=True, kw_only=True)
class GivePlan(Pass):
    """Promise a graph schedule, and keep the promise or not."""

    name: ClassVar[str] = "give-plan"
    gives: ClassVar[frozenset[Stage]] = frozenset({Stage.GRAPH_SCHEDULE})

    honest: bool = True

    def run(self, module: Module, ctx: Context) -> Module:
        order = tuple(op.name for op in module.graph.ops)
        plan = GraphSchedule(budget=1, order=order) if self.honest else None
        return replace(module, graph_schedule=plan)


@dataclass(frozen=True, kw_only=True)
class BreakThings(Pass):
    """Fail in one of several ways."""

    name: ClassVar[str] = "break-things"

    how: str = "crash"

    def run(self, module: Module, ctx: Context) -> Module:
        if self.how == "crash":
            raise KeyError("oops")
        if self.how == "infeasible":
            raise InfeasibleError("nothing fits")
        if self.how == "undeclared":
            return replace(module, graph=replace(module.graph, name="other"))
        raise AssertionError(self.how)


@dataclass(frozen=True, kw_only=True)
class DropOutputs(Pass):
    """Leave a graph that is not valid."""

    name: ClassVar[str] = "drop-outputs"
    gives: ClassVar[frozenset[Stage]] = frozenset({Stage.GRAPH})

    def run(self, module: Module, ctx: Context) -> Module:
        return replace(module, graph=replace(module.graph, outputs=()))


SAMPLES = (TuneAll, RenameGraph, NeedPlan, GivePlan, BreakThings, DropOutputs)
