"""A mapper that ends the process that asks it."""

import os
from dataclasses import dataclass

from accnn.passes.mapping.mapper import Mapper


@dataclass(frozen=True)
class DyingMapper(Mapper):
    name: str = "dying"

    def find(self, problem):
        os._exit(7)
