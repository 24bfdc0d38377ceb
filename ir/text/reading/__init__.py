"""From text to the parts of a module.

- ``syntax``: what the grammar reads, with positions, made by ``build_syntax``;
- ``graph``, ``nest``: what has a form of its own;
- ``records``: all else, led by the types of fields; ``leaves``: single values.
"""
