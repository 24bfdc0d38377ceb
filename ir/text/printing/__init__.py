"""The parts of a module as text.

- ``graph``, ``nest``, ``program``: what has a form of its own;
- ``records``: all else, derived from the fields of its classes;
- ``words``: how names, texts and numbers are spelled.
"""
