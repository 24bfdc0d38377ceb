"""What schedulers of tiles share: a memory and a clock to decide by.

- ``address_space``: who holds which bytes until when, and where there is space;
- ``engines``: when engines and off-chip ports are idle.
"""
