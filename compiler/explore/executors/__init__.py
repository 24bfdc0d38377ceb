"""Who answers tasks.

- ``executor``: what every one of them does;
- ``child``: a process that answers, with a limit on its time, and replaced where it dies;
- ``local``: several such processes on this machine;
- ``dask_cluster``, ``ray_cluster``: the same on the workers of an engine;
- ``remote``: what these workers run;
- ``choose``: from the text of ``--executor`` to one of them.
"""
