"""passes/scheduling/flexer."""
