"""Passes that rewrite the graph: folding, fusion, legalisation."""
