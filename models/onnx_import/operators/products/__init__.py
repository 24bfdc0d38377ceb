"""Import of what the MAC array computes.

- ``convolution``, ``transposed``: in two dimensions; ``dimensions`` has one and three;
- ``matrices``, ``einsum``: products of matrices;
- ``recurrent``: recurrent layers, unrolled;
- ``transforms``: Fourier transforms.
"""
