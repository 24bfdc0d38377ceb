"""The report of a study, as one page.

- ``scatter``: a chart of points;
- ``view``: everything that the page shows, as values;
- ``render``: the page.
"""
