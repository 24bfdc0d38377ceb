"""What networks are built of: a builder of layers, and the structure that it makes.

``structure.py``: a network without weights; ``core.py``: nodes and parameters; ``windows.py``:
convolutions and pools; ``builder.py``: all layers; ``attention.py``: blocks of transformers.
"""
