"""The driver: the only part that knows all others."""
