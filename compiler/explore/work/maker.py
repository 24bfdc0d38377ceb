"""From a study to what makes its questions."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ....ir.arch import Architecture
from ....ir.errors import OptionError
from ....passes.mapping.registry import find_mapper
from ....passes.scheduling.flexer.options import FlexerOptions
from ...stores.store import Store
from ..study.read import Study
from ..study.schema import Question, StudyObjective
from .nests import nest_question
from .networks import NetworkLayers, read_network_layers
from .plans import PlanQuestion, check_graph
from .question import Asked
from .tiles import TileQuestion

_GOALS = {
    Question.NESTS: tuple(StudyObjective),
    Question.TILES: (StudyObjective.LATENCY, StudyObjective.OFFCHIP_BYTES),
    Question.PLANS: (StudyObjective.OFFCHIP_BYTES,),
}
"""What each kind of question has figures of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PointPart:
    """A question that the figures of a point add up.

    Attributes:
        network: Name of the network.
        name: Of the layer, or of the whole network.
        count: How often it occurs.
        asked: The question.
    """

    network: str
    name: str
    count: int
    asked: Asked


class Maker(Protocol):
    """Makes the questions of a machine."""

    @property
    def identity(self) -> str:
        """What it asks, as text: equal texts ask the same of equal machines."""
        ...

    def __call__(self, arch: Architecture, mapper: str) -> Iterator[PointPart]:
        """Yield the questions for a machine, and the name of who maps its layers."""
        ...


def maker_of(study: Study, cache: Path | None) -> Maker:
    """Return what makes the questions of a study.

    Args:
        study: The study.
        cache: Folder of answers found earlier; ``None`` finds all anew.

    Raises:
        InputError: A network cannot be read, or what is minimised is no figure of the answers.
    """
    tables = study.tables
    goals = _GOALS[tables.question]
    if tables.objective not in goals:
        raise OptionError(
            f"{study.path.name}: {tables.question} tell nothing of {tables.objective}",
            hint=f"objective: {', '.join(goals)}",
        )
    if tables.question is Question.PLANS:
        for name in tables.networks:
            check_graph(name)
        return PlanMaker(tables.networks)
    store = None if cache is None else Store(cache)
    networks = tuple(
        read_network_layers(name, study.path.parent, store) for name in tables.networks
    )
    if tables.question is Question.TILES:
        return TileMaker(networks, tables.mapping.evaluations)
    return NestMaker(study, networks, cache)


@dataclass(frozen=True, slots=True)
class NestMaker:
    """Asks for the loop nest of each layer, on the first NPU.

    Attributes:
        study: The study.
        networks: Its networks.
        cache: Folder of nests found earlier; ``None`` maps anew.
    """

    study: Study
    networks: tuple[NetworkLayers, ...]
    cache: Path | None

    @property
    def identity(self) -> str:
        """What it asks, as text."""
        return repr(self.networks)

    def __call__(self, arch: Architecture, mapper: str) -> Iterator[PointPart]:
        """Yield the questions for a machine."""
        tables = self.study.tables
        chosen = find_mapper(mapper)
        for network in self.networks:
            for layer in network.layers:
                asked = nest_question(layer.workload, arch, chosen, tables, self.cache)
                yield PointPart(
                    network=network.name, name=layer.name, count=layer.count, asked=asked
                )


@dataclass(frozen=True, slots=True)
class TileMaker:
    """Asks for the tile schedule of each layer, on all NPUs; the mapper is its scheduler.

    Attributes:
        networks: The networks.
        steps: Operations that may be scheduled out of order; ``None`` is Flexer's default.
    """

    networks: tuple[NetworkLayers, ...]
    steps: int | None

    @property
    def identity(self) -> str:
        """What it asks, as text."""
        return repr((self.networks, self.steps))

    def __call__(self, arch: Architecture, mapper: str) -> Iterator[PointPart]:
        """Yield the questions for a machine."""
        options = FlexerOptions() if self.steps is None else FlexerOptions(steps=self.steps)
        for network in self.networks:
            for layer in network.layers:
                asked = TileQuestion(layer.workload, arch, mapper, options)
                yield PointPart(
                    network=network.name, name=layer.name, count=layer.count, asked=asked
                )


@dataclass(frozen=True, slots=True)
class PlanMaker:
    """Asks for the plan of the scratchpad of each network.

    Attributes:
        networks: Names of graphs.
    """

    networks: tuple[str, ...]

    @property
    def identity(self) -> str:
        """What it asks, as text."""
        return repr(self.networks)

    def __call__(self, arch: Architecture, mapper: str) -> Iterator[PointPart]:
        """Yield the questions for a machine; nobody maps anything for them."""
        capacity = arch.scratchpad_level.capacity or 0
        for name in self.networks:
            yield PointPart(network=name, name=name, count=1, asked=PlanQuestion(name, capacity))
