"""All seeded faults."""

from tests.end_to_end.faults.fault import Fault
from tests.end_to_end.faults.in_backend import BACKEND
from tests.end_to_end.faults.in_compiler import COMPILER
from tests.end_to_end.faults.in_models import MODELS
from tests.end_to_end.faults.in_simulator import SIMULATOR

FAULTS: tuple[Fault, ...] = (*COMPILER, *BACKEND, *SIMULATOR, *MODELS)
