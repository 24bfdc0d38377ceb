"""passes/scheduling/cosma."""
