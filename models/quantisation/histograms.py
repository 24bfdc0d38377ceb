"""Ranges of activations that leave out rare values: by percentile, or by entropy.

Where a histogram of each activation is cut follows from all samples. Both methods are onnxruntime's
own. What is left out saturates, and the steps for all else become finer.

Deviation: onnxruntime gives entropy 128 bins, as many as it wants to keep, and so leaves it nothing
to choose from. Here it has four times that.

References:
    Migacz: 8-bit Inference with TensorRT. GPU Technology Conference, 2017 (entropy).
"""

import io
from collections.abc import Iterable
from contextlib import redirect_stdout
from typing import Any, cast

import numpy as np
from onnxruntime.quantization import calibrate

from ..data.calibration import Sample
from ..session import Model, Optimisation, make_session, returning, run
from .prepare import large_weights, skeleton
from .ranges import CalibrationMethod, Ranges

_BINS = {CalibrationMethod.PERCENTILE: 2048, CalibrationMethod.ENTROPY: 512}
_QUANTISED_BINS = 128


def cut_ranges(
    model: Model,
    whole: Ranges,
    samples: Iterable[Sample],
    method: CalibrationMethod,
    percentile: float,
) -> Ranges:
    """Run the samples and return the range of every float activation without rare values.

    One sample's activations are in memory at once.

    Args:
        model: What ``prepare`` returns.
        whole: What ``measure_ranges`` found; all bins lie in there.
        samples: The same samples again.
        method: ``percentile`` or ``entropy``.
        percentile: Values that remain, of all [percent]; each end loses half of the rest.

    """
    names, weights = tuple(whole.bounds), large_weights(model)
    inputs = {item.name for item in model.graph.input}
    shown = returning(skeleton(model), [name for name in names if name not in inputs])
    session = make_session(shown, optimisation=Optimisation.NONE)
    collector: Any = cast(Any, calibrate).HistogramCollector(
        method.value, False, _BINS[method], _QUANTISED_BINS, percentile, "same"
    )
    collector.histogram_dict = {
        name: _empty(*bounds, _BINS[method]) for name, bounds in whole.bounds.items()
    }
    for sample in samples:
        found = {**sample, **run(session, {**sample, **weights})}
        collector.collect_value({name: found[name] for name in names})
    with redirect_stdout(io.StringIO()), np.errstate(divide="ignore", invalid="ignore"):
        cuts = collector.compute_collection_result()
    bounds = {name: (float(cuts[name][0]), float(cuts[name][1])) for name in names}
    return Ranges(bounds=bounds, samples=whole.samples)


def _empty(low: float, high: float, bins: int) -> tuple[object, ...]:
    """Return a histogram that has counted nothing, as the collector keeps it.

    Its bins are those that onnxruntime makes of all samples at once; made of the first one alone,
    they would become many where a later one is larger.
    """
    ends = np.array([low, high], np.float32)
    largest = np.abs(ends).max()
    counts, edges = np.histogram(np.empty(0, np.float32), bins, range=(-largest, largest))
    return counts, edges.astype(np.float32), ends[0], ends[1], largest
