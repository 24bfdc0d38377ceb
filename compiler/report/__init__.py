"""The report of a compilation.

- ``contents``: its values, from what the stages found;
- ``table``: on the terminal, with ``operator_table`` and ``layer_table``;
- ``html``: as a page;
- ``figures``, ``off_chip``, ``proofs``: how numbers, traffic and proofs are written in all of them.
"""
