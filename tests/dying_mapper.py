"""A mapper that ends the process that asks it."""

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class DyingMapper:
    name: str = "dying"

    def map(self, workload, arch, *, workspace=None, resident=frozenset(), options=None):
        os._exit(7)
