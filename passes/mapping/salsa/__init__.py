"""SALSA: a loop order found by simulated annealing."""
