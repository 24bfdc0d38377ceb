"""What is kept on disk between compilations, addressed by everything that it depends on.

- ``store``: the folder, its size, and the version of the code that decides on answers;
- ``inventory``: what lies there, and what goes where it is too much;
- ``mappings``: loop nests;
- ``passes``: what slow passes made of a module;
- ``networks``: quantised networks.
"""
