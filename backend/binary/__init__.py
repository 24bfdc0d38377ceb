"""Programs as bytes.

- ``encode``: a program to bytes and back: its head, and its instructions;
- ``payload``: the fields of one instruction;
- ``instruction_table``: numbers and layouts, derived from the classes of instructions.
"""
