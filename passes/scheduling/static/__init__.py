"""Tiles of one operator, or of a group, in the order of its loop nest.

- ``schedule_tiles``: the pass, and the tiles of one operator; ``known_schedules`` reuses those of
  operators that are alike;
- ``group_schedules``: orders of a group's stripes, and ways to share the work;
- ``lags``: which chains lag a stripe; ``ready_order``: operations of stripes that begin when they
  can start;
- ``static``: the best of several attempts; ``attempts``: one of them, by the compiled engine
  (:mod:`~accnn.passes.scheduling.engine.kernel`); ``tables``: what that reads;
- ``issue_order``: which NPU takes which turn;
- ``demand``: what tiles need at once, before any is placed; ``fixed_places``: addresses of inner
  tiles beforehand, where taking them in turn leaves space in pieces.
"""
