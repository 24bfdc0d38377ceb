"""A mapper made of two others: the better of their nests."""

from dataclasses import dataclass, field

from accnn.passes.mapping.mapper import Mapper, MappingResult
from accnn.passes.mapping.problem import MappingProblem
from accnn.passes.mapping.recipes.drawn import RandomBest
from accnn.passes.mapping.recipes.output_stationary import OutputStationary


@dataclass(frozen=True)
class BetterOfTwo(Mapper):
    """Asks two mappers; of equal nests the first one's counts."""

    name: str = "better-of-two"
    first: Mapper = field(default_factory=OutputStationary)
    second: Mapper = field(default_factory=RandomBest)

    def find(self, problem: MappingProblem) -> MappingResult:
        found = (self.first.map(problem), self.second.map(problem))
        return min(found, key=lambda result: result.objective)


BETTER_OF_TWO = BetterOfTwo()
