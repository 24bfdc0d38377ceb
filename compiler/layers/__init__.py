"""Single layers: what ``acc-map`` works on.

- ``read``: layers from the command line, and from CSV files;
- ``schedulers``: layers under tile schedulers, as text and CSV;
- ``timeloop``: mapped layers as the files that ``timeloop-model`` reads.
"""
