"""Figures of a mapping or schedule without running it: traffic, cycles, energy, bounds.

- ``flows``: the flow table, the one statement of what moves where;
- ``batches``: the cost model over many nests at once;
- ``cost``, ``tile_cost``: of one nest, and of one MAC instruction; ``traffic`` is what they tell;
- ``mesh_load``: what traffic over the mesh costs, in closed form;
- ``bounds``, ``compulsory``: below which no mapping, and no plan of a network, can go;
- ``unrolled_steps``: steps of an array, at least, where extents do not fill it;
- ``accumulator_range``: whether a sum can leave its width;
- ``sliding``, ``zigzag``: as other models count.
"""
