"""Addresses for blocks of memory, so that none overlap in address x time: exactly.

=============  ==================================================================================
``search.py``  depth-first search over canonical packings
``deep.py``    hard cases: a long, compiled search
``kernel.py``  its inner loops
``exact.py``   all of these, and integer programming where few pairs stay open
=============  ==================================================================================
"""
