"""What a pass is: a function from module to module whose fields are its options.

::

    @dataclass(frozen=True, kw_only=True)
    class InOrder(Pass):
        \"\"\"Schedule the graph in its own order.\"\"\"

        name: ClassVar[str] = "in-order"
        gives: ClassVar[frozenset[Stage]] = frozenset({Stage.GRAPH_SCHEDULE})

        budget: int | None = None

        def run(self, module: Module, ctx: Context) -> Module: ...

From the fields come the pipeline text (``in-order{budget=65536}``), the help and the checks.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Protocol, TypeAlias, TypeVar

from ..ir.arch import Architecture
from ..ir.errors import VerifyError
from ..ir.module import Module, Stage
from .deadline import NEVER, Deadline
from .helpers import Helpers, nobody
from .mapping.jobs import JobSolver, solve_in_turn

T = TypeVar("T")

STAGES = tuple(Stage)
"""Stages in the order of the flow; each is derived from those before it."""

_ABSENT: Mapping[Stage, tuple[()] | None] = {
    Stage.ARCH: None,
    Stage.GRAPH_SCHEDULE: None,
    Stage.MAPPINGS: (),
    Stage.TILE_SCHEDULE: None,
    Stage.PROGRAM: None,
}

SECONDS_OF = "seconds of "
"""What names of counters begin with that tell how long finding an operator's loop nest took."""

CUT_SHORT = "cut short"
"""The counter of a pass that a deadline has ended before it was done."""

STOOD_IN = "stood in"
"""The counter of nests of a stand-in, whose mapper had ended the process that asked it."""

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called as ``progress(what, done, total)`` while a long pass works."""


def silent(what: str, done: int, total: int) -> None:
    """Report no progress.

    Args:
        what: What is done.
        done: Steps so far.
        total: All steps.
    """


class Counters:
    """What one pass has to tell in figures; the manager makes a fresh one for each pass."""

    def __init__(self) -> None:
        self._values: dict[str, int | float] = {}

    def add(self, name: str, amount: float = 1) -> None:
        """Add to a counter; it starts from zero."""
        self._values[name] = self._values.get(name, 0) + amount

    @property
    def values(self) -> tuple[tuple[str, int | float], ...]:
        """Counters as (name, value) pairs, sorted by name."""
        return tuple(sorted(self._values.items()))


class Notes:
    """What passes of one run remember for each other, one object of each kind.

    It saves time and decides no result: a pass gives the same with none of it.
    """

    def __init__(self) -> None:
        self._kept: dict[type, object] = {}

    def of(self, kind: type[T]) -> T:
        """Return the object of a kind; a new one the first time."""
        found = self._kept.get(kind)
        if not isinstance(found, kind):
            found = self._kept[kind] = kind()
        return found


class PassRunner(Protocol):
    """Runs a pass; the compiler's recalls what slow ones made of the same module before."""

    def __call__(self, item: "Pass", module: Module, ctx: "Context") -> Module:
        """Return the module after the pass."""
        ...


def run_anew(item: "Pass", module: Module, ctx: "Context") -> Module:
    """Run a pass; a :class:`PassRunner`.

    Args:
        item: The pass.
        module: What it is run on.
        ctx: What it gets beside the module.
    """
    return item.run(module, ctx)


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a pass gets beside the module.

    Attributes:
        seed: Of everything that is random.
        counters: Where the pass tells what it did.
        progress: Where a long pass tells how far it is.
        solve_jobs: Answers questions to mappers.
        helpers: Other processes that answer what will be asked.
        notes: What passes remember for each other.
        run_pass: Runs the passes.
        deadline: When passes that search for long take what they have.
    """

    seed: int = 0
    counters: Counters = field(default_factory=Counters)
    progress: Progress = silent
    solve_jobs: JobSolver = solve_in_turn
    helpers: Helpers = nobody
    notes: Notes = field(default_factory=Notes)
    run_pass: PassRunner = run_anew
    deadline: Deadline = NEVER

    def with_counters(self, counters: Counters) -> "Context":
        """Return the context of another pass of the same run."""
        return replace(self, counters=counters)


@dataclass(frozen=True)
class Pass(ABC):
    """Base of all passes; subclasses are frozen dataclasses, their fields the options.

    Options may be ``int``, ``float``, ``bool``, ``str``, a ``StrEnum``, or one of these
    ``| None``, and have defaults. A subclass that checks them does so in ``__post_init__`` and
    raises ``OptionError``.

    Attributes:
        name: Verb and object, kebab-case; class and file are named by the same words.
        needs: Stages that must be present.
        gives: Stages that are present, and new, afterwards. Later stages that the pass does not
            give are derived from what it replaced, so the manager drops them.
        is_slow: Whether what it gives is worth keeping for the next run. It then depends on its
            options, on the stages, on the seed and on mappers alone; it gets no data of constants.
    """

    name: ClassVar[str]
    needs: ClassVar[frozenset[Stage]] = frozenset({Stage.GRAPH})
    gives: ClassVar[frozenset[Stage]] = frozenset()
    is_slow: ClassVar[bool] = False

    @abstractmethod
    def run(self, module: Module, ctx: Context) -> Module:
        """Return the module after the pass; the same object where nothing changed."""

    def check(self, module: Module) -> None:
        """Check what was kept of an earlier run; passes with a checker of their own add it.

        Args:
            module: As the pass would return it.

        Raises:
            AccnnError: It is not what the pass would give.
        """
        module.verify()

    @classmethod
    def summary(cls) -> str:
        """First line of the docstring."""
        return (cls.__doc__ or "").strip().split("\n", maxsplit=1)[0]

    @classmethod
    def drops(cls) -> frozenset[Stage]:
        """Stages that are derived from what the pass gives, and that it does not give itself."""
        if not cls.gives:
            return frozenset()
        first = min(STAGES.index(stage) for stage in cls.gives)
        return frozenset(STAGES[first + 1 :]) - cls.gives - _SOURCES


_SOURCES = frozenset({Stage.GRAPH, Stage.ARCH})
"""Stages that are derived from no other."""


def without(module: Module, stages: frozenset[Stage]) -> Module:
    """Return a module without some stages, or the same object where none is present."""
    present = module.stages & stages
    if not present:
        return module
    return replace(module, **{stage.value: _ABSENT[stage] for stage in present})


def require_arch(module: Module) -> Architecture:
    """Return the architecture of a module whose pass declares that it needs one.

    Raises:
        VerifyError: There is none.
    """
    if module.arch is None:
        raise VerifyError("the module has no architecture")
    return module.arch
