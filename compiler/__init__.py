"""The driver: the only room that knows all others."""
