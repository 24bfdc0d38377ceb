"""The compiled scheduler: a tile problem to a schedule, in a given order or out of order.

- ``arrays``: what it reads and writes; ``start``: a schedule before its first operation;
- ``drive``: set by set; ``goal``: what is minimised;
- ``candidates``, ``sets``: which operations are considered together, and the best set;
- ``space_plan``, ``spills``, ``scratchpad``: space for the tiles of a set;
- ``issue``, ``arrive``, ``leaving``, ``timing``: the set, its tiles, and when transfers run.
"""
