"""The mesh between the memories and the children of a fan-out, flit by flit.

- ``nest_traffic``: the traffic of one operator from its loop nest, and how long it takes;
- ``tile_crossing``: how the tile of one copy crosses;
- ``phases``: when the tiles of a nest come and go;
- ``destinations``: which children get which part, and whose sums are added;
- ``transfers``: transfers, delays and what waits for what, with the rules of the mesh;
- ``kernel``: the discrete events of these rules;
- ``dram``: timing of the off-chip memory.
"""
