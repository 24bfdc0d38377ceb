"""Passes from module to module, and the manager that runs them."""
