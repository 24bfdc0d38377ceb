"""What networks are calibrated and run with.

- ``calibration``: data read from files, and which inputs are indices;
- ``synthetic``: made-up data: seeded ``images``, and indices below what they index.
"""
