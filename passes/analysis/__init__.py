"""Figures of a mapping or schedule without running it: traffic, cycles, energy, bounds."""
