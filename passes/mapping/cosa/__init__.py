"""passes/mapping/cosa."""
