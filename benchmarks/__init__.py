"""Measurements: `python -m benchmarks.NAME` from the repository root."""
