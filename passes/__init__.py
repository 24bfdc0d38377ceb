"""Passes: functions from module to module, and what runs them."""
