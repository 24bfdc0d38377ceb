"""What a study asks, and what comes back.

- ``outcome``: what comes back of a task;
- ``question``: what a task asks; ``nests``, ``tiles``, ``plans`` are the kinds of questions;
- ``machine``: the architecture of a point;
- ``networks``: networks, as workloads with how often they occur;
- ``maker``: the questions of a machine.
"""
