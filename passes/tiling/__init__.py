"""Cut operators into tiles that fit on chip.

=================  ==========================================================================
``collect.py``     a tile graph in the making
``mac.py``         operators of the MAC array, by their loop nests
``nest_cuts.py``   which loops become operations, and which an operation runs
``mac_tiles.py``   the tiles that these operations read and write
``inner_nest.py``  what of a nest one instruction runs
``vector.py``      operators of the vector unit and moves
``residency.py``   what a plan keeps on chip while an operator runs
``groups/``        fused groups, stripe by stripe
=================  ==========================================================================
"""
