"""A nest as the text of a CUDA kernel, which is C, too.

- ``digits``: which loops make up a coordinate, and what each counts;
- ``tiles``: what is kept in shared memory and in registers, and where an element of it lies;
- ``kernel``: the text.
"""
