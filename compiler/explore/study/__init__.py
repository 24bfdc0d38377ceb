"""A study as its author writes it.

- ``schema``: the tables of a study file;
- ``read``: from a file to these tables, with messages for what is wrong;
- ``size``: sizes such as ``64 KiB``;
- ``expression``: arithmetic over parameters;
- ``parameters``: the values that each parameter may take, and the points of the space;
- ``places``: where a parameter lies in an architecture file.
"""
