"""Schedulers: order of operators, plan of the scratchpad, order of tiles."""
