"""What a figure or table of a paper says, what we have, and the verdict."""

from dataclasses import dataclass
from enum import StrEnum

from .find import Find


class Paper(StrEnum):
    """The papers that this project follows."""

    COSA = "CoSA"
    FLEXER = "Flexer"
    COSMA = "COSMA"
    SALSA = "SALSA"


class Verdict(StrEnum):
    """How what we have compares with what a paper says."""

    REPRODUCED = "reproduced"
    BETTER = "better"
    DIFFERS = "differs"
    NOT_REPRODUCIBLE = "not reproducible"
    NOT_MEASURED = "not measured"
    EXPLAINS = "explains, measures nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A benchmark with its arguments.

    Attributes:
        module: What ``python -m`` is given.
        whole: Arguments of the whole measurement.
        quick: Arguments of a small part of it.
    """

    module: str
    whole: str = ""
    quick: str = ""

    def line(self, *, quick: bool = False) -> str:
        """Return what a user types."""
        return f"python -m {self.module} {self.quick if quick else self.whole}".rstrip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One thing that one figure or table says.

    Attributes:
        paper: Which paper.
        item: The figure or table, as the paper numbers it: ``Fig. 6``.
        section: Where the paper speaks of it.
        says: What it shows.
        theirs: The paper's figure, ``None`` where it prints none.
        unit: Of both figures, behind the number: ``x``, `` s``, `` %``.
        command: What measures ours; ``None`` where nothing is measured.
        find: Ours in what the command prints.
        page: Where our documents tell of it, below the root, a heading behind ``#``.
        ours: Our figure as that page has it.
        shown: The text that the page has for it; by default the number itself.
        more_is_better: Whether a larger figure is the better one.
        judged: The verdict where two numbers do not give it.
        because: Why it differs, is not measured or cannot be; a remark else.
    """

    paper: Paper
    item: str
    section: str
    says: str
    theirs: float | None = None
    unit: str = "x"
    command: Command | None = None
    find: Find | None = None
    page: str
    ours: float | None = None
    shown: str = ""
    more_is_better: bool = True
    judged: Verdict | None = None
    because: str = ""

    @property
    def verdict(self) -> Verdict:
        """What the figures give, unless it is judged otherwise."""
        return self.judged or self.compare(self.ours)

    def compare(self, ours: float | None) -> Verdict:
        """Return the verdict on a figure of ours; within 5 % it is reproduced."""
        if ours is None:
            return self.judged or Verdict.NOT_MEASURED
        if self.theirs is None:
            return self.judged or Verdict.REPRODUCED
        if abs(ours - self.theirs) <= 0.05 * abs(self.theirs):
            return Verdict.REPRODUCED
        return Verdict.BETTER if (ours > self.theirs) is self.more_is_better else Verdict.DIFFERS

    def figure(self, value: float | None) -> str:
        """Return a figure with its unit."""
        return "-" if value is None else f"{value:.4g}{self.unit}"

    @property
    def text_on_page(self) -> str:
        """What the page has for our figure; empty where there is none."""
        return self.shown or ("" if self.ours is None else f"{self.ours:g}")
