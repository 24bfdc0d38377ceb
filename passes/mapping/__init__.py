"""Loop nests for single operators: the question, the answers, and who finds them.

- ``problem``: what is asked; every mapper answers the same question;
- ``mapper``: what a mapper is and what it answers; ``jobs``: many questions at once;
- ``registry``: the mappers by name;
- ``timeloop``, ``zigzag_files``: workloads, machines and nests as files of Timeloop and ZigZag;
- ``cuda``: a nest as the text of a CUDA kernel;
- ``recipes``: the mappers, each a few steps of search and proof;
- ``search``: annealing over orders of loops, local search over tiles, draws;
- ``certificate``: integer programs, which prove what no mapping can beat.

The passes that ask mappers for whole networks are in ``passes/scheduling``.
"""
