"""When instructions run, and who waits for whom.

- ``events``: the discrete events over queues, waits and ports;
- ``demands``: what each instruction asks of engines and ports; ``over_mesh``: of a mesh, too;
- ``mesh_account``: what the array waits for over the mesh, and what links carry;
- ``ports``: the ports of a machine;
- ``contention``: data phases under way, at rates that ``sharing`` makes fair;
- ``interleaving``: a random legal order, for looking at a program in another one.
"""
