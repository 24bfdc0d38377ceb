"""Run a study: points in batches, their distinct tasks, and what comes of them."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from ...backend.arch_tables import dump_architecture
from ..stores.store import code_version, digest_of
from .executors.executor import Executor
from .findings.figures import all_figures
from .results.database import Database
from .results.records import PointRecord, UseRecord
from .search.batches import Places, batches
from .study.read import Study
from .work.machine import PointMachine, machine_of
from .work.maker import Maker, PointPart
from .work.outcome import TaskOutcome
from .work.question import StudyTask

Progress: TypeAlias = Callable[[int, int], None]
"""Called as ``progress(done, total)`` with tasks of the current batch."""

_DECIDING = ("backend", "compiler/explore", "ir", "passes")
_PACKAGES = ("accnn",)
_MOST_HELD = 200
_LONGEST_HELD = 0.5


def digest_of_study(study: Study, make: Maker) -> str:
    """Return the digest of all that the results of a study depend on.

    What only decides on who works and for how long is no part of it.
    """
    tables = study.tables
    parts = (tables.objective, tables.question, tables.constraints, tables.technology)
    search = (tables.search.method, tables.search.points, tables.search.seed, tables.search.batch)
    mapping = tables.mapping
    options = (mapping.mapper, mapping.objective, mapping.seed, mapping.evaluations)
    return digest_of(
        *map(repr, (parts, search, options, study.space, study.bases)),
        make.identity,
        code_version(_DECIDING, _PACKAGES),
    )


@dataclass
class StudyRun:
    """One run of a study.

    Attributes:
        study: The study.
        database: Where its results are.
        executor: Who answers its tasks.
        make: Makes the questions of a machine.
        progress: Called about progress.
        keep: Called after every batch with all points so far.
    """

    study: Study
    database: Database
    executor: Executor
    make: Maker
    progress: Progress
    keep: Callable[[Mapping[int, float | None]], None]
    tasks: dict[str, StudyTask] = field(default_factory=dict[str, StudyTask])

    def run(self) -> None:
        """Look at every point; what was answered before is not asked again.

        Raises:
            AccnnError: The search needs what is not there, or the engine failed.
        """
        for first, places in batches(self.study, self.values):
            self._register(first, places)
            self._answer()
            self.keep(self.values())

    def values(self) -> Mapping[int, float | None]:
        """Return what is minimised, by number of a point."""
        goal = self.study.tables.objective
        return {item.point.number: item.of(goal) for item in all_figures(self.database)}

    def _register(self, first: int, places: Places) -> None:
        """Write a batch of points, and make their tasks."""
        self.tasks = {}
        points: list[PointRecord] = []
        uses: list[UseRecord] = []
        architectures: dict[str, str] = {}
        for number, place in enumerate(places, start=first):
            machine = machine_of(self.study, self.study.space.point(place))
            text = "" if machine.arch is None else dump_architecture(machine.arch)
            digest = digest_of(text) if text else ""
            if text:
                architectures[digest] = text
            points.append(_record(number, place, machine, digest))
            uses += self._uses(number, machine)
        labels = {key: task.label for key, task in self.tasks.items()}
        self.database.add_points(points, architectures, labels, uses)

    def _uses(self, number: int, machine: PointMachine) -> Iterator[UseRecord]:
        if machine.arch is None or machine.cause:
            return
        places: Counter[str] = Counter()
        for part in self.make(machine.arch, machine.mapper):
            task = self._task(part, machine)
            yield UseRecord(
                point=number,
                network=part.network,
                layer=places[part.network],
                name=part.name,
                count=part.count,
                task=task.key,
            )
            places[part.network] += 1

    def _task(self, part: PointPart, machine: PointMachine) -> StudyTask:
        """Return the task of a question; equal questions are one task."""
        assert machine.arch is not None
        options = self.study.tables.mapping
        key = part.asked.key
        label = f"{part.name} on {machine.arch.name}, {machine.mapper}"
        return self.tasks.setdefault(
            key,
            StudyTask(
                key=key,
                label=label,
                asked=part.asked,
                timeout=options.timeout,
                retries=options.retries,
            ),
        )

    def _answer(self) -> None:
        """Answer the tasks of a batch, and write what comes every now and then."""
        known = self.database.answered()
        waiting = [task for key, task in self.tasks.items() if key not in known]
        done, total = len(self.tasks) - len(waiting), len(self.tasks)
        self.progress(done, total)
        held: dict[str, TaskOutcome] = {}
        since = time.monotonic()
        try:
            for task, outcome in self.executor.run(waiting) if waiting else ():
                held[task.key] = outcome
                done += 1
                if len(held) >= _MOST_HELD or time.monotonic() - since > _LONGEST_HELD:
                    self.database.add_outcomes(held)
                    held, since = {}, time.monotonic()
                self.progress(done, total)
        finally:
            self.database.add_outcomes(held)


def _record(number: int, place: tuple[int, ...], machine: PointMachine, digest: str) -> PointRecord:
    return PointRecord(
        number=number,
        place=place,
        values=json.dumps(dict(machine.values)),
        arch=digest,
        mapper=machine.mapper,
        area_mm2=machine.area_mm2,
        sram=machine.sram,
        cause=machine.cause,
    )
