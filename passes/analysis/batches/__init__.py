"""The cost model over many nests of a workload at once; one nest is a batch of one.

- ``nest_batch``: the nests, as arrays; ``unrollings``: how they are unrolled;
- ``coefficients``: the flow table with an unrolling filled in;
- ``kernel``: sizes, visits and bits, nest by nest, compiled;
- ``counts``, ``latency``, ``capacity``: what moves, how long it takes, whether it fits;
- ``batch``: all of these; ``tile_batch``: what tiles cost beyond it, in a ``tile_setting``.
"""
