"""Tiles of one operator, or of a group, in the order of its loop nest.

- ``schedule_tiles``: the pass, and the tiles of one operator; ``known_schedules`` reuses those of
  operators that are alike;
- ``group_schedules``: orders of a group's stripes, and ways to share the work;
- ``lags``: which chains lag a stripe; ``ready_order``: operations of stripes that begin when they
  can start;
- ``static``: the engine: issues turns, fetches ahead, makes tiles leave;
- ``issue_order``: which NPU takes which turn; ``tile_memory``: which tile is where on chip;
- ``demand``: what tiles need at once, before any is placed; ``fixed_places``: addresses of inner
  tiles beforehand, where taking them in turn leaves space in pieces;
- ``contents``: what lies where meanwhile, and what of it an event touches;
- ``timeline``: when events run, as predicted while they are issued.
"""
