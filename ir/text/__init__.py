"""The text form of modules: printing, and parsing as its exact inverse."""

from .parser import parse_module
from .printer import print_module

__all__ = ["parse_module", "print_module"]
