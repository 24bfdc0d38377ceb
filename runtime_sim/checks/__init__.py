"""What a program may not do: race, or read what nobody has written.

- ``placed``: what instructions touch, with its place in the machine;
- ``races``: accesses to one byte that no wait orders, with its inner loop in ``race_kernel``;
- ``written``: reads of bytes that nobody has written.
"""
