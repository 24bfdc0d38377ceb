"""The declarations of operator kinds; ``ir/ops.py`` joins them to one table.

- ``families``: the kinds themselves;
- ``spec``: what a declaration consists of;
- ``access``: access maps: which box of each operand a box of the result needs;
- ``functions``: the functions of the vector unit, their meaning and their cost, on the arithmetic
  of ``elementary``; ``pairs``: sums and products of quantised numbers;
- ``shapes``, ``checks``: rules of shapes and types;
- ``attributes``, ``views``, ``image``: attributes that kinds share, typed views of them, and how
  the MAC array sees activations.
"""
