"""The compiled inner loops of the cost model: from loops and starts of tiles to what moves.

All figures are whole numbers: whoever works them out finds the same ones.
"""
