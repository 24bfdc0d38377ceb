"""passes/mapping/salsa."""
