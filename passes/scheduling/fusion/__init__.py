"""Which operators are executed together, so that what they hand on never leaves the chip.

================  ===============================================================================
``epilogues.py``  what finishes its tiles, joined to the product or convolution before it
``intervals.py``  stretches of a plan's order that would move less as one group
``offers.py``     which of these may be worth measuring, each with the highest stripes that fit
``group_costs``   what such a stretch would cost: bytes and cycles, estimated or by its tiles
``expected.py``   how long groups are expected to take, by the nests of their members
``experience.py`` how far from that those were that have been measured
``weights_first``  the order that has such stretches where weights are computed
``alike.py``      which steps of a plan are alike, so that stretches of them are
``choice.py``     plans with groups, which are kept where nothing becomes worse
``variants.py``   other stripes and orders, where they are better at their place in such a plan
``subsampled.py``  strided filters whose input is handed on instead of their result
``borders.py``    why steps of a plan are not one group
================  ===============================================================================

What a group is stands in ``ir/graph_schedule.py``; ``passes/tiling/groups`` makes its tiles.
"""

from enum import StrEnum


class Fuse(StrEnum):
    """Which operators may be executed together."""

    OFF = "off"
    EPILOGUES = "epilogues"
    GROUPS = "groups"
