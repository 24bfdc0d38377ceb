"""Addresses for blocks of memory, so that none overlap in address x time: exactly.

=============  ==================================================================================
``search.py``  first fit, then depth-first search over canonical packings
``kernel.py``  its inner loops, compiled
=============  ==================================================================================
"""
