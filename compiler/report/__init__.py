"""The report of a compilation.

- ``contents``: its values, from what the stages found;
- ``table``: on the terminal, with ``operator_table``, ``layer_table`` and ``mesh_table``;
- ``summary``: its head, as JSON;
- ``comparison``, ``comparison_table``: two of them side by side;
- ``html``: as a page;
- ``notebook``: in a notebook, and its operators as a data frame;
- ``binding``: what holds an operator up; ``bottleneck`` says it in a sentence;
- ``figures``, ``off_chip``, ``proofs``: how numbers, traffic and proofs are written in all of them.
"""
