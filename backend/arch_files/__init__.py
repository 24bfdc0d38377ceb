"""Architecture files.

- ``load``: find a file by name and load it;
- ``tables``: its TOML tables, and the architecture that they stand for;
- ``checks``: what must hold between the tables;
- ``errors``: messages for what is wrong.
"""
