"""From scheduled tiles to streams of instructions.

- ``lower``: a whole network, on a machine that ``executable`` accepts;
- ``event``: one event of a tile schedule, its instruction selected by ``select_mac`` or
  ``select_vector`` from a ``site``, its tiles with their places;
- ``addressing``: from tiles at addresses to strided accesses;
- ``layout``: where every tensor lies in off-chip memory;
- ``streams``: the queues in the making, with none but the waits that order something.
"""
