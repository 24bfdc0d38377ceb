"""Run a study of architectures, go on with it, tell how far it is, and report on it."""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path

import typer

from ....ir.codec.files import check_writable, replacing, write_csv
from ....ir.errors import InputError, OptionError
from ...explore.study.read import Study, read_study
from ...explore.study.schema import Method
from ...explore.work.maker import maker_of
from ...stores.inventory import limited
from ...stores.store import default_folder
from ..verbosity import Verbosity
from .progress import shown_progress


class Action(StrEnum):
    """What is done with a study."""

    RUN = "run"
    STATUS = "status"
    RESUME = "resume"
    REPORT = "report"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExploreRequest:
    """What the command line asks for.

    Attributes:
        words: An action, where one is given, and the study file.
        executor: Who answers tasks.
        processes: Of the local executor.
        results: File or URL of the results.
        html: File of the report.
        csv: File of the points, as CSV.
        parquet: File of the points, as Parquet.
        cached: Whether nests of before count.
        verbosity: How much is said.
    """

    words: tuple[str, ...]
    executor: str
    processes: int
    results: str | None
    html: Path | None
    csv: Path | None
    parquet: Path | None
    cached: bool
    verbosity: Verbosity


def explore(request: ExploreRequest) -> None:
    """Do what is asked for.

    Raises:
        AccnnError: An option or the study is wrong, or what it needs is not installed.
    """
    action, path = _action(request.words)
    if request.processes < 1:
        raise OptionError(f"processes is {request.processes}, must be 1 or more")
    study = read_study(path)
    files = (request.html or path.with_suffix(".html"), request.csv, request.parquet)
    for file in files:
        if file is not None:
            check_writable(file)
    _check_installed()
    match action:
        case Action.RUN | Action.RESUME:
            _run(study, request, again=action is Action.RESUME)
            _report(study, request)
        case Action.STATUS:
            _status(study, request)
        case Action.REPORT:
            _report(study, request)


def _action(words: tuple[str, ...]) -> tuple[Action, Path]:
    known = [str(item) for item in Action]
    action, rest = (words[0], words[1:]) if words[0] in known else (str(Action.RUN), words)
    if len(rest) != 1:
        raise OptionError("give one study file", hint=f"acc-explore [{'|'.join(known)}] study.toml")
    return Action(action), Path(rest[0])


def _check_installed() -> None:
    try:
        importlib.import_module("sqlalchemy")
        importlib.import_module("optuna")
    except ModuleNotFoundError as error:
        raise OptionError(
            f"{error.name} is not installed, which acc-explore needs",
            hint="pip install 'accnn[explore]'",
        ) from error


def _url(study: Study, request: ExploreRequest) -> str:
    text = request.results or str(study.path.with_suffix(".db"))
    return text if "://" in text else f"sqlite:///{text}"


def _run(study: Study, request: ExploreRequest, *, again: bool) -> None:
    from ...explore.executors.choose import choose_executor
    from ...explore.results.database import open_database
    from ...explore.run import StudyRun, digest_of_study

    folder = default_folder() if request.cached else None
    make = maker_of(study, folder)
    database = open_database(_url(study, request))
    if again and not database.has_begun():
        raise InputError("there is nothing to resume", hint=f"acc-explore run {study.path}")
    database.begin(study.tables.name, digest_of_study(study, make), study.text)
    if again:
        typer.echo(f"{database.forget_what_failed()} tasks failed before and are tried again")
    executor = choose_executor(request.executor, request.processes)
    try:
        with limited(folder), shown_progress("acc-explore", request.verbosity) as observe:
            keep = _keeper(study, _url(study, request))
            run = StudyRun(study, database, executor, make, partial(observe, "tasks"), keep)
            run.run()
    finally:
        executor.close()
        database.close()


def _keeper(study: Study, url: str) -> Callable[[Mapping[int, float | None]], None]:
    """Return what writes the trials of a Bayesian search to Optuna's storage."""
    search = study.tables.search

    def keep(values: Mapping[int, float | None]) -> None:
        if search.method is Method.BAYESIAN:
            from ...explore.results.database import open_database
            from ...explore.search.bayesian import keep_trials

            points = open_database(url).points()
            history = [(point.place, values[point.number]) for point in points]
            keep_trials(study.space, history, search.storage or url, study.tables.name)

    return keep


def _status(study: Study, request: ExploreRequest) -> None:
    from ...explore.findings.summary import progress_of
    from ...explore.results.database import open_database

    database = open_database(_url(study, request))
    if not database.has_begun():
        raise InputError(f"{study.path.name} was not begun", hint=f"acc-explore {study.path}")
    progress = progress_of(database)
    typer.echo(f"points: {progress.points}, of which {progress.refused} not looked at")
    ended = "".join(f", {count} {status}" for status, count in sorted(progress.ended.items()))
    typer.echo(f"tasks: {progress.tasks}{ended}, {progress.waiting} waiting")
    typer.echo(f"seconds of work: {progress.seconds:.1f}")


def _report(study: Study, request: ExploreRequest) -> None:
    from ...explore.findings.figures import all_figures
    from ...explore.findings.rows import rows_of
    from ...explore.findings.summary import summary_of, value_of
    from ...explore.page.render import study_page
    from ...explore.page.view import values_text
    from ...explore.results.database import open_database
    from ...explore.results.export import write_parquet

    database = open_database(_url(study, request))
    if not database.has_begun():
        raise InputError(f"{study.path.name} was not begun", hint=f"acc-explore {study.path}")
    summary = summary_of(database, study.tables.objective)
    file = request.html or study.path.with_suffix(".html")
    with replacing(file) as path:
        page = study_page(study.tables.name, study.tables.description, summary)
        path.write_text(page, encoding="utf-8")
    rows = rows_of(all_figures(database))
    if request.csv is not None:
        write_csv(request.csv, rows)
    if request.parquet is not None:
        write_parquet(request.parquet, rows)
    if request.verbosity is Verbosity.QUIET:
        return
    for item in summary.points[:1]:
        value = value_of(item, summary.goal)
        typer.echo(f"best: point {item.point.number}, {values_text(item)}: {value:.4g}")
    typer.echo(f"{len(summary.failures)} causes of failure, report in {file}")
