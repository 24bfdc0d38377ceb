"""The drawings of the page.

- ``marks``: what they are made of: panels over one axis, filled with paths;
- ``operators``: where the time goes, a column for each operator;
- ``stacks``: energy and bytes of each operator, stacked by memory level;
- ``roofline``: how near operators are to what the machine can do;
- ``plan``: the scratchpad over the steps;
- ``run``: who was busy when, with ``run_bars``;
- ``tiles``: tiles of an operator in address and time, at their ``event_times``.
"""
