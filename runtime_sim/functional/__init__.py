"""What instructions do to memory: values, exactly as the instruction set defines them.

- ``execute``: the table of instructions, one small function each;
- ``mac``, ``pooling``: multiply-accumulate and pools, over the ``windows`` that they see;
- ``numerics``: rounding, saturation and requantisation, the definition of arithmetic;
- ``machine``: the memories, what a queue may reach of them, and results not yet visible;
- ``region``: which bytes an access touches.
"""
