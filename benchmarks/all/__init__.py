"""Every benchmark in its small form, one after the other, with the history of its figures.

``__main__.py``  the command
``commands.py``  which benchmarks there are, and the small form of each
``run.py``       one run of them: seconds, exit codes, figures, what was printed
``page.py``      the page with the history
"""
