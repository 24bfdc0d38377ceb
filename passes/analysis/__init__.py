"""passes/analysis."""
