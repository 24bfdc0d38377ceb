"""From a scheduled network to a program, and the accelerators that it can be for.

- ``arch_files``: TOML files that describe accelerators; ``targets`` is the catalogue;
- ``lowering``: from scheduled tiles to streams of instructions;
- ``binary``: programs as bytes, and back;
- ``package``: the artefact ``program.acc``, a program with all that a run needs;
- ``manual``: writes the manual of the instruction set.
"""
