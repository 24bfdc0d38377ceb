"""The values of the report, from what the stages of a compilation found.

- ``findings``: what the stages found;
- ``report``: the whole report;
- ``operators``: a row for each operator;
- ``alone``, ``differences``: where model and simulation part, and why;
- ``lower_bounds``: of cycles and bytes.
"""
