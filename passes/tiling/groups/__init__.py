"""Cut fused groups into tiles, stripe by stripe.

==================  =========================================================================
``chains.py``       the members of a group as chains
``members.py``      what they read, make and hand on, and what of it is resident
``windows.py``      what pools of a chain read, put together to whole windows
``rows.py``         which rows operators read, from those that they make
``stripes.py``      which rows a group makes, stripe by stripe
``homes.py``        what a group writes in place into concatenations
``lines.py``        how long the rows of a group lie on chip, and what they take
``group.py``        the tiles of a group, its chains more or less far apart
``chain_tiles.py``  tiles and operations of its chains, stripe by stripe
``line_tiles.py``   tiles of its lines, and copies of the rows that are kept
==================  =========================================================================
"""
