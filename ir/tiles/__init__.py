"""Tiles: operators cut into what fits on chip, and when and where each part runs.

- ``graph``: tiles and the operations on them;
- ``regions``, ``cells``: which elements of a tensor a tile covers, and which are written together;
- ``events``, ``schedule``: what happens to tiles, when and where, and the one verifier of it;
- ``replay``: that what is read is there, by ``contents`` of tensors and of tiles that roll, and
  partial ``sums``;
- ``occupancy``, ``places``: that engines and bytes serve one thing at a time, and that tensors are
  where the graph schedule has them;
- ``touches``, ``hazards``: what an event reads and writes, and which others it must wait for.
"""
