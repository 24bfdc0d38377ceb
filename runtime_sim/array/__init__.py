"""The MAC array and its memories: what the loops that an instruction carries do on a machine.

- ``nest``: the loops on the machine: chains of memories, unrolling, what every memory must hold;
- ``counts``: accesses of every memory, transfers over every link, steps;
- ``run``: all that a MAC instruction needs of the machine: energy, what it moves, when the first
  tiles are in place, and when the last sums are home;
- ``arrays``: the same for all NPUs and layouts, memoised by descriptor;
- ``tiles``: which tiles the memories of an array hold when;
- ``spread``: how a tile lies in the instances of a memory, and what moving it loads.

Nothing here knows the compiler's cost model: the two are compared, operator by operator.
"""
