"""From a scheduled network to a program, and the accelerators that it can be for.

- ``load``: architecture files, by name; ``arch_tables`` reads their TOML tables, ``arch_checks``
  looks at what must hold between them, ``arch_errors`` says what is wrong;
- ``targets``: the catalogue of architecture files;
- ``lowering``: from scheduled tiles to streams of instructions;
- ``binary``: programs as bytes, and back;
- ``package``: the artefact ``program.acc``, a program with all that a run needs;
- ``manual``, ``arch_manual``: write the references of instructions and of architecture files.
"""
