"""From an ONNX file to a model that can be imported.

- ``load``: reads the file, with ``external`` data beside it, and checks what ``ir_version`` it is;
- ``nodes``: the nodes as the file has them;
- ``shapes``, ``constants``: what the user fixes of its inputs;
- ``widen``: networks in other floating-point types, in float32.
"""
