"""Cut operators into tiles that fit on chip.

===================  ========================================================================
``collect.py``       a tile graph in the making
``mac.py``           operators of the MAC array, by their loop nests
``inner_nest.py``    what of a nest one instruction runs
``vector.py``        operators of the vector unit and moves
``residency.py``     what a plan keeps on chip while an operator runs
``chains.py``        the members of a fused group as chains
``stripes.py``       which rows a group makes, stripe by stripe
``homes.py``         what a group writes in place into concatenations
``lines.py``         how long the rows of a group lie on chip, and what they take
``group.py``         the tiles of a group, its chains more or less far apart
``group_chains.py``  tiles and operations of its chains, stripe by stripe
``group_lines.py``   tiles of its lines, and copies of the rows that are kept
===================  ========================================================================
"""
