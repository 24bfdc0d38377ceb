"""passes/scheduling."""
