"""NumPy meaning of every operator: the oracle for lowering and simulator."""

from .run import run, run_op

__all__ = ["run", "run_op"]
