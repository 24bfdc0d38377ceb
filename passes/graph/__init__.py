"""passes/graph."""
