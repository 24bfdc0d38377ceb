"""Looking for good nests; nothing is proven here.

- ``orders``: the order of loops, by annealing or exhaustion, tiles allocated exactly (compiled);
- ``even``: factors and stationary operands of even mappings: draws and local search (vectorised);
- ``uneven``: order and tiles of nests, step by step (vectorised); ``kernel``: its steps (compiled);
- ``filled``: nests of several unrollings, whose tiles are as large as fit (vectorised);
- ``growing``: tiles of several unrollings that grow from the inside out (vectorised);
- ``first_nests``: what stands before anything is proven;
- ``measures``: what is minimised; ``merging``: neighbouring loops over one dimension, joined.
"""
