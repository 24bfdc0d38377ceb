"""Studies, questions and executors for the tests of ``compiler/explore``."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from accnn.compiler.explore.results.database import Database, open_database
from accnn.compiler.explore.run import StudyRun, digest_of_study
from accnn.compiler.explore.study.read import Study, read_study
from accnn.compiler.explore.work.maker import PointPart
from accnn.compiler.explore.work.networks import CountedLayer
from accnn.compiler.explore.work.outcome import TaskOutcome
from accnn.compiler.explore.work.question import StudyTask
from accnn.ir.arch import Architecture
from accnn.ir.workload import Workload
from tests.questions import MadeUp

LAYERS_STUDY = """
name = "two machines"
base = "simba"
networks = ["layers.csv"]
objective = "energy"

[parameters]
gb.capacity = ["64 KiB", "128 KiB"]

[mapping]
mapper = "output-stationary"
"""
"""Of layers in a file beside it, by the greedy mapper."""

STUDY = """
name = "small"
base = "simba.toml"
networks = ["made up"]
objective = "edp"

[parameters]
gb.capacity = ["64 KiB", "128 KiB", "256 KiB"]
pe.size = [4, 8, 16]
wb.capacity = "gb.capacity / 32"
"""

LAYERS = (
    CountedLayer("first", Workload(P=4, C=8, K=8), 2),
    CountedLayer("second", Workload(P=2, C=16, K=8), 1),
)


@dataclass(frozen=True)
class MakeMadeUp:
    """Asks for made-up figures, each after some seconds."""

    sleeps: float = 0.0

    @property
    def identity(self) -> str:
        return repr(LAYERS)

    def __call__(self, arch: Architecture, mapper: str) -> Iterator[PointPart]:
        for layer in LAYERS:
            asked = MadeUp(layer.workload, arch, self.sleeps)
            yield PointPart(network="made up", name=layer.name, count=layer.count, asked=asked)


@dataclass
class InTurn:
    """Answers in this process, and counts."""

    asked: int = 0

    def run(self, tasks: Sequence[StudyTask]) -> Iterator[tuple[StudyTask, TaskOutcome]]:
        for task in tasks:
            self.asked += 1
            yield task, task.answer()

    def close(self) -> None:
        """Nothing is to be given back."""


def task_of(asked, *, timeout: float = 60.0, retries: int = 0) -> StudyTask:
    return StudyTask(key=asked.key, label=asked.key, asked=asked, timeout=timeout, retries=retries)


def small_study(folder: Path, text: str = STUDY) -> Study:
    path = folder / "study.toml"
    path.write_text(text)
    return read_study(path)


def begun(study: Study, file: Path) -> Database:
    database = open_database(f"sqlite:///{file}")
    database.begin(study.tables.name, digest_of_study(study, MakeMadeUp()), study.text)
    return database


def run_small(study: Study, file: Path, executor=None, make=None) -> Database:
    """Return the database of a study that was run, or that was gone on with."""
    database = begun(study, file)
    chosen = InTurn() if executor is None else executor
    StudyRun(study, database, chosen, make or MakeMadeUp(), told, kept).run()
    return database


def told(done: int, total: int) -> None:
    """Tell nobody."""


def kept(values) -> None:
    """Keep nothing."""
