"""A study's results in SQLite, or any database that SQLAlchemy knows."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, Table, create_engine, delete, insert, select
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from ....ir.errors import InputError, OptionError
from ..work.outcome import AGAIN, TaskOutcome, TaskStatus
from .records import PointRecord, TaskRecord, UseRecord
from .tables import (
    ARCHITECTURES,
    LASTING,
    META,
    OUTCOMES,
    POINTS,
    STUDIES,
    TASKS,
    TIMINGS,
    USES,
)

Row = Mapping[str, Any]
_ONLY = 1


@dataclass(frozen=True, slots=True)
class Database:
    """Results of one study; every method is one transaction.

    Attributes:
        engine: Of SQLAlchemy.
    """

    engine: Engine

    def begin(self, name: str, digest: str, text: str) -> None:
        """Make the tables, or check that they hold this study.

        Args:
            name: Of the study.
            digest: Of all that its results depend on.
            text: Of its file.

        Raises:
            InputError: They hold another one.
        """
        META.create_all(self.engine)
        with self.engine.begin() as connection:
            known = connection.execute(select(STUDIES.c.digest)).scalars().first()
            if known is None:
                row = {"id": _ONLY, "name": name, "digest": digest, "text": text}
                connection.execute(insert(STUDIES), [row])
            elif known != digest:
                raise InputError(
                    "the results are those of another study, of other networks or another release",
                    hint="name another file with --results, or delete this one",
                )

    def has_begun(self) -> bool:
        """Whether there is a study."""
        META.create_all(self.engine)
        return bool(self._rows(STUDIES))

    def add_points(
        self,
        points: Sequence[PointRecord],
        architectures: Mapping[str, str],
        tasks: Mapping[str, str],
        uses: Sequence[UseRecord],
    ) -> None:
        """Write points with all that hangs on them; what is there already remains.

        Args:
            points: The points.
            architectures: Their texts, by digest.
            tasks: Labels of their tasks, by digest.
            uses: What their figures add up.
        """
        with self.engine.begin() as connection:
            archs = [{"digest": key, "text": text} for key, text in architectures.items()]
            _add(connection, ARCHITECTURES, archs)
            _add(connection, TASKS, [{"key": key, "label": text} for key, text in tasks.items()])
            _add(connection, USES, [_fields(item, USES) for item in uses])
            _add(connection, POINTS, [_point_row(item) for item in points])

    def add_outcomes(self, outcomes: Mapping[str, TaskOutcome]) -> None:
        """Write what came of tasks, by digest; what is there already remains."""
        rows = [{"key": key, **_fields(item, OUTCOMES)} for key, item in outcomes.items()]
        times = [{"key": key, "seconds": item.seconds} for key, item in outcomes.items()]
        with self.engine.begin() as connection:
            _add(connection, OUTCOMES, rows)
            _add(connection, TIMINGS, times)

    def forget_what_failed(self) -> int:
        """Delete the outcomes that may differ the next time; return how many there were."""
        with self.engine.begin() as connection:
            failed = OUTCOMES.c.status.in_([str(item) for item in AGAIN])
            keys = connection.execute(select(OUTCOMES.c.key).where(failed)).scalars().all()
            connection.execute(delete(TIMINGS).where(TIMINGS.c.key.in_(keys)))
            connection.execute(delete(OUTCOMES).where(failed))
            return len(keys)

    def answered(self) -> frozenset[str]:
        """Return the digests of the tasks with an outcome."""
        with self.engine.connect() as connection:
            return frozenset(connection.execute(select(OUTCOMES.c.key)).scalars())

    def points(self) -> tuple[PointRecord, ...]:
        """Return all points, by number."""
        rows = [dict(row) for row in self._rows(POINTS)]
        for row in rows:
            row["place"] = tuple(json.loads(row["place"]))
            row["sram"] = int(row["sram"])
        return tuple(PointRecord(**row) for row in rows)

    def uses(self) -> tuple[UseRecord, ...]:
        """Return what the figures of points add up, by point, network and layer."""
        return tuple(UseRecord(**row) for row in self._rows(USES))

    def tasks(self) -> tuple[TaskRecord, ...]:
        """Return all tasks with their outcomes, by digest."""
        seconds = {row["key"]: row["seconds"] for row in self._rows(TIMINGS)}
        outcomes = {row["key"]: _outcome(row, seconds) for row in self._rows(OUTCOMES)}
        return tuple(
            TaskRecord(key=row["key"], label=row["label"], outcome=outcomes.get(row["key"]))
            for row in self._rows(TASKS)
        )

    def architectures(self) -> Mapping[str, str]:
        """Return the texts of all architectures, by digest."""
        return {row["digest"]: row["text"] for row in self._rows(ARCHITECTURES)}

    def content(self) -> Mapping[str, tuple[tuple[Any, ...], ...]]:
        """Return all that follows from the study alone, sorted: rows by table."""
        return {
            table.name: tuple(tuple(row.values()) for row in self._rows(table)) for table in LASTING
        }

    def close(self) -> None:
        """Give back the connections."""
        self.engine.dispose()

    def _rows(self, table: Table) -> list[Row]:
        order = select(table).order_by(*table.primary_key.columns)
        with self.engine.connect() as connection:
            return [dict(row) for row in connection.execute(order).mappings()]


def open_database(url: str) -> Database:
    """Return the database of a URL; its tables are made when a study begins.

    Raises:
        OptionError: It is no URL, its driver is missing, or it cannot be opened.
    """
    try:
        engine = create_engine(make_url(url), poolclass=NullPool)
        engine.connect().close()
    except (ArgumentError, ModuleNotFoundError, SQLAlchemyError) as error:
        what = str(error).partition("\n")[0]
        raise OptionError(
            f"--results {url}: {what}", hint='a file, or e.g. "postgresql://user@host/name"'
        ) from error
    return Database(engine)


def _add(connection: Connection, table: Table, rows: Iterable[Row]) -> None:
    """Insert the rows whose keys are not there."""
    names = [column.name for column in table.primary_key.columns]
    keyed = {tuple(row[name] for name in names): row for row in rows}
    known = _known(connection, table, keyed)
    new = [row for key, row in keyed.items() if key not in known]
    if new:
        connection.execute(insert(table), new)


def _known(
    connection: Connection, table: Table, keys: Collection[tuple[Any, ...]]
) -> frozenset[tuple[Any, ...]]:
    columns = list(table.primary_key.columns)
    first = sorted({key[0] for key in keys})
    found: set[tuple[Any, ...]] = set()
    for start in range(0, len(first), 500):
        part = select(*columns).where(columns[0].in_(first[start : start + 500]))
        found |= {tuple(row) for row in connection.execute(part)}
    return frozenset(found)


def _fields(item: object, table: Table) -> dict[str, Any]:
    names = [column.name for column in table.columns]
    return {name: getattr(item, name) for name in names if hasattr(item, name)}


def _point_row(item: PointRecord) -> dict[str, Any]:
    return {**_fields(item, POINTS), "place": json.dumps(item.place)}


def _outcome(row: Row, seconds: Mapping[str, float]) -> TaskOutcome:
    figures = {name: value for name, value in row.items() if name not in ("key", "status")}
    return TaskOutcome(
        status=TaskStatus(row["status"]), seconds=seconds.get(row["key"], 0.0), **figures
    )
