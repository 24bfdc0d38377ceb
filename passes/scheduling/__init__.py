"""Schedulers: order of operators, plan of the scratchpad, order of tiles.

- ``schedule_cosma``, ``schedule_linear``, ``schedule_in_order``: passes that order operators and
  plan the scratchpad; ``cosma``: the optimiser; ``in_order``: the greedy plan; ``fusion``: groups;
- ``check``: replays a plan; ``count_traffic``: its bytes beside those of the tiles;
- ``map_operators``, ``map_groups``, ``groups_ahead``: loop nests for the steps of a plan;
- ``likeness``: which operators are tiled alike;
- ``static``: tiles in the order of their nest; ``flexer``: out of order on several NPUs;
- ``network``: the tiles of all operators in turn; ``across``: so that they cross their boundaries;
- ``engine``: the memory and the clock that these decide by; ``timing``: when events run.
"""
