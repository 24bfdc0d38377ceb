"""Loop nests for single operators: the question, the answers, and who finds them.

- :mod:`.problem`: what is asked; every mapper answers the same question;
- :mod:`.mapper`: what a mapper is and what it answers; :mod:`.jobs`: many questions at once;
- :mod:`.registry`: the mappers by name;
- ``recipes``: the mappers, each a few steps of search and proof;
- ``search``: annealing over orders of loops, local search over tiles, draws;
- ``certificate``: integer programs, which prove what no mapping can beat.

The passes that ask mappers for whole networks are in ``passes/scheduling``.
"""
