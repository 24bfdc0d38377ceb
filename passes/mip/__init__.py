"""passes/mip."""
