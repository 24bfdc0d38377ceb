"""Every figure and table of the four papers, beside what we measure.

``__main__.py``  the command: lists, measures, writes ``docs/papers.md``
``claim.py``     what a paper says, what we have, and the verdict
``find.py``      figures in what a command printed
``runs.py``      commands, each run once and kept by content
``page.py``      the page, and the table of a run
``registry.py``  all claims, and the items that each paper has
``of_cosa.py``, ``of_flexer.py``, ``of_cosma.py``, ``of_salsa.py``  the claims of one paper each
"""
