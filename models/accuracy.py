"""Which classes a network, and the float network that it was made of, give to the user's examples.

The examples are a data set as for calibration (``data/calibration.py``). Beside the inputs it may
hold the array ``labels``: the right class of each example, as int64.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..ir.errors import OptionError
from ..ir.report import Accuracy
from .apart import result_of
from .data.calibration import InputSpec, Sample, arrays_in, data_files, input_specs, read_samples
from .session import Model, make_session, run

LABELS = "labels"
"""Name of the array of right classes."""

_MANY = 5


@dataclass(frozen=True, slots=True)
class _Shares:
    """Shares of examples for which one class, or one of five, is right."""

    top1: float
    top5: float


def measure_accuracy(path: Path, model: Model, reference: Model | None) -> Accuracy:
    """Run a classifier on examples, and compare its classes with labels and with a float model's.

    A class is what the first output ranks highest along its second axis; of equals, the first.

    Args:
        path: The data set.
        model: The model that is compiled.
        reference: The float model that it was made of, where it was quantised here.

    Raises:
        OptionError: The data does not suit the model, there is nothing to compare with, or the
            first output is not one score per class.
        ModelError: onnxruntime cannot run a model.
    """
    specs = input_specs(model)
    labelled = LABELS in arrays_in(data_files(path)[0]) and LABELS not in {s.name for s in specs}
    if not labelled and reference is None:
        raise OptionError(
            f"{path} holds no array {LABELS!r}, and there is no float network to compare with",
            hint="the network was not quantised here; give the right class of each example",
        )
    batch = specs[0].shape[:1] or (1,)
    label = InputSpec(name=LABELS, shape=batch, dtype=np.dtype(np.int64))
    samples = list(read_samples(path, (*specs, label) if labelled else specs))
    if not samples:
        raise OptionError(f"{path} holds no example")
    ranks = _ranks(model, samples)
    floats = None if reference is None else _ranks(reference, samples)
    labels = np.concatenate([item[LABELS] for item in samples]) if labelled else None
    if labels is not None:
        _check_labels(labels, ranks, path)
    agreement = None if floats is None else _shares(ranks, floats[:, 0])
    right = None if labels is None else _shares(ranks, labels)
    float_right = None if labels is None or floats is None else _shares(floats, labels)
    return Accuracy(
        data=path.name,
        samples=len(ranks),
        top1_agreement=None if agreement is None else agreement.top1,
        top5_agreement=None if agreement is None else agreement.top5,
        top1=None if right is None else right.top1,
        top5=None if right is None else right.top5,
        float_top1=None if float_right is None else float_right.top1,
        float_top5=None if float_right is None else float_right.top5,
    )


def _ranks(model: Model, samples: list[Sample]) -> NDArray[np.int64]:
    """Return the classes of each example, the most likely first ``[examples, classes]``."""
    return result_of(
        lambda: np.concatenate(list(_ranked(model, samples))), "run the network on examples"
    )


def _ranked(model: Model, samples: list[Sample]) -> Iterator[NDArray[np.int64]]:
    session, name = make_session(model), model.graph.output[0].name
    for sample in samples:
        inputs = {key: array for key, array in sample.items() if key != LABELS}
        yield np.argsort(-_scores(name, run(session, inputs, [name])[name]), axis=1, kind="stable")


def _scores(name: str, found: NDArray[Any]) -> NDArray[np.float64]:
    """Return an output as scores ``[examples, classes]``."""
    if found.ndim < 2 or found.shape[1] < 2 or found.size != found.shape[0] * found.shape[1]:
        raise OptionError(
            f"output {name!r} has the shape {list(found.shape)}, which is not one score for each "
            "class of each example",
            hint="accuracy is of classifiers: the first output must be [examples, classes]",
        )
    return found.reshape(found.shape[:2]).astype(np.float64)


def _check_labels(labels: NDArray[np.int64], ranks: NDArray[np.int64], path: Path) -> None:
    classes = ranks.shape[1]
    if labels.shape[0] != ranks.shape[0]:
        raise OptionError(f"{path}: {len(labels)} labels for {len(ranks)} examples")
    if labels.min() < 0 or labels.max() >= classes:
        worst = labels.min() if labels.min() < 0 else labels.max()
        raise OptionError(f"{path}: label {worst} is no class; there are {classes}")


def _shares(ranks: NDArray[np.int64], wanted: NDArray[np.int64]) -> _Shares:
    """Return how often the first class, and one of the first five, is what is wanted."""
    hits = ranks[:, :_MANY] == wanted[:, None]
    return _Shares(float(hits[:, 0].mean()), float(hits.any(axis=1).mean()))
