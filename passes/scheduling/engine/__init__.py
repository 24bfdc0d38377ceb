"""What schedulers of tiles share: a memory and a clock to decide by.

- ``address_space``: who holds which bytes until when, and where there is space;
- ``blocks``: addresses for what is known beforehand, by fast packings that often do;
- ``engines``: when engines and off-chip ports are idle;
- ``kernel``: the engine that issues tiles in a given order, compiled.
"""
