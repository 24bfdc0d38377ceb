"""Flexer: out-of-order schedules of tile operations on several NPUs."""
