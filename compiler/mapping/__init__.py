"""Answers to many questions to mappers.

- ``solve``: each distinct question once, from the store or anew;
- ``pool``: several processes that answer side by side;
- ``worker``: what such a process runs.
"""
