"""COSMA: operator order, residency and addresses as one integer program."""
