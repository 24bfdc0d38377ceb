"""Flexer: out-of-order schedules of tile operations on several NPUs.

- ``schedule_flexer``: the pass, as ``options`` say; ``side_by_side`` searches several operators;
- ``site``, ``tilings``: one operator at its place, and how it can be cut;
- ``problem``, ``kernel``, ``decode``: a tiling as arrays, the compiled scheduler, and back to a
  schedule; ``latency`` is what the arrays take;
- ``search``: which tilings, orders and rules are tried; ``bounds`` end it, a ``candidate`` is kept;
- ``layer``: single layers.
"""
