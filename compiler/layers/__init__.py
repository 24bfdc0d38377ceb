"""Single layers: what ``acc-map`` works on.

- ``read``: layers from the command line, and from CSV files;
- ``schedulers``: layers under tile schedulers, as text;
- ``emit``: mapped layers as the files that Timeloop and ZigZag read, or as CUDA kernels;
  ``judge`` takes nests of Timeloop's files;
- ``picture``: a nest as boxes.
"""
