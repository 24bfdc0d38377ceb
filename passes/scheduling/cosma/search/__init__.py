"""Order and residency by search over the sets of executed operators.

=================  ==============================================================================
``moves.py``       states, moves and their cost
``bounds.py``      what remains to be moved at least
``best_first.py``  the search
``divide.py``      problems in pieces, at operators that all paths pass
``peak.py``        the least peak footprint of any order, nothing spilled
=================  ==============================================================================
"""
