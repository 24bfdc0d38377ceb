"""Clean-up of the graph: what is dead, equal, without effect or known at compile time."""
