"""passes/mapping."""
