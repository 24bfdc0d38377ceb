"""Nodes that have bodies of their own, replaced by what is in them.

- ``control_flow``: ``If``, ``Loop`` and ``Scan``, unrolled;
- ``expansion``: operators that ONNX defines by simpler ones;
- ``renaming``: the names that nodes of a body get.
"""
