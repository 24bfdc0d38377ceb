"""Instructions, and programs of them.

- ``instructions``: the instruction set, a class for each instruction;
- ``program``: queues of instructions, the machine that they run on, where tensors lie;
- ``program_checks``: what a program must be to be one for its machine;
- ``spaces``: sizes of the on-chip address spaces;
- ``latency``: start-ups, and cycles of ports.
"""
