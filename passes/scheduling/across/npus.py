"""Which NPU takes the part of an operator that another one had."""

from collections.abc import Sequence

from ..engine.engines import Engines


def dealt(work: Sequence[int], engines: Engines) -> tuple[int, ...]:
    """Return the new NPU of each old one: most work goes to the one that is idle first."""
    npus = range(len(work))
    olds = sorted(npus, key=lambda npu: (-work[npu], npu))
    news = sorted(npus, key=lambda npu: (engines.npu_free_at(npu), npu))
    place = dict(zip(olds, news, strict=True))
    return tuple(place[npu] for npu in npus)
