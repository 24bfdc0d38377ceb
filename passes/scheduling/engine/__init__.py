"""What schedulers of tiles share: memories and engines to decide by.

- ``blocks``: addresses for what is known beforehand, by fast packings that often do;
- ``kernel``: the compiled engine: tiles in a given order, and events in the gaps of others.
"""
