"""Points that Optuna's tree-structured Parzen estimator proposes.

Reference: J. Bergstra et al., "Algorithms for Hyper-Parameter Optimization", NIPS 2011. Optuna's
sampler is made anew for every batch, with a seed that follows from the study's and from how many
points were seen: what it proposes depends on these and on the history, so that a study that was
interrupted goes on as if it had not been.
"""

import warnings
from collections.abc import Sequence

import optuna
from optuna.distributions import BaseDistribution, IntDistribution
from optuna.trial import FrozenTrial, TrialState, create_trial

from ..study.parameters import StudySpace

History = Sequence[tuple[tuple[int, ...], float | None]]
"""Points by place, with what is minimised; ``None`` where a point has no value."""

_STEP = 1_000_003
"""Between the seeds of two numbers of points, so that two studies' seeds rarely meet."""


def propose(
    space: StudySpace, history: History, count: int, seed: int
) -> tuple[tuple[int, ...], ...]:
    """Return the next points, by place.

    Args:
        space: The space.
        history: Earlier points.
        count: How many are wanted.
        seed: Of the study.
    """
    mixed = (seed + _STEP * len(history)) % 2**32
    study = _study(space, history, optuna.samplers.TPESampler(seed=mixed))
    asked = [study.ask(_distributions(space)) for _ in range(count)]
    return tuple(tuple(trial.params[axis.name] for axis in space.axes) for trial in asked)


def keep_trials(space: StudySpace, history: History, url: str, name: str) -> None:
    """Write trials to Optuna's own storage, for its dashboard; those that are there remain.

    Args:
        space: The space.
        history: All points so far.
        url: Of the storage.
        name: Of the study.
    """
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    kept = optuna.create_study(storage=url, study_name=name, load_if_exists=True)
    for trial in _trials(space, history)[len(kept.get_trials(deepcopy=False)) :]:
        kept.add_trial(trial)


def _study(
    space: StudySpace, history: History, sampler: optuna.samplers.BaseSampler
) -> optuna.study.Study:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        study = optuna.create_study(sampler=sampler)
    study.add_trials(_trials(space, history))
    return study


def _distributions(space: StudySpace) -> dict[str, BaseDistribution]:
    return {axis.name: IntDistribution(0, len(axis.values) - 1) for axis in space.axes}


def _trials(space: StudySpace, history: History) -> list[FrozenTrial]:
    names = [axis.name for axis in space.axes]
    return [
        create_trial(
            state=TrialState.FAIL if value is None else TrialState.COMPLETE,
            value=value,
            params=dict(zip(names, place, strict=True)),
            distributions=_distributions(space),
        )
        for place, value in history
    ]
