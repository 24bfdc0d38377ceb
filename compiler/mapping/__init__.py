"""Answers to many questions to mappers.

- ``solve``: each distinct question once, from the store or anew;
- ``pool``: several processes that answer side by side;
- ``process``: one of them, seen from outside;
- ``worker``: what such a process runs.
"""
