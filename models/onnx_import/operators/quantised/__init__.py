"""Import of operators on integers.

- ``qdq``: quantising and dequantising, taken literally, or as plain arithmetic;
- ``qoperator``: operators that compute on quantised tensors;
- ``integers``: products of bytes that return int32.
"""
