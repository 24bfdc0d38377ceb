"""compiler/cli."""
