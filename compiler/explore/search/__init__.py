"""Which points of the space are looked at.

- ``batches``: points in batches; each may depend on what came of earlier ones;
- ``bayesian``: what Optuna proposes; the door to Optuna.
"""
