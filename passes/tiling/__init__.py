"""passes/tiling."""
