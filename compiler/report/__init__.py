"""compiler/report."""
