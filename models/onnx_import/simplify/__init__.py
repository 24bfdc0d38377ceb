"""Rewrites that every import ends with: integers out of QDQ, affine folding, activation fusion."""

from .pipeline import simplify

__all__ = ["simplify"]
