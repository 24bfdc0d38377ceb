"""What the results of a study say.

- ``figures``: of every point, on every network, and what the study minimises;
- ``sensitivity``: what each parameter makes of it;
- ``failures``: what did not end well, by cause;
- ``rows``: all points as a table;
- ``summary``: all of it, with the points that no other one beats in two figures.
"""
