"""Which operators are executed together, so that what they hand on never leaves the chip.

``epilogues.py`` joins operators of one element to the product or convolution before them.
"""
