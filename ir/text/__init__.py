"""The text form of modules: printing, and parsing as its exact inverse.

- ``printer``, ``parser``: a module to text, and back by ``grammar.lark``;
- ``printing``: the parts of a module as text;
- ``reading``: what the grammar reads, and the values that it means;
- ``errors``: where, the line with a caret, and what was expected.
"""
