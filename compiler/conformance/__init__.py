"""How much of ONNX compiles to right programs: ``python -m accnn.compiler.conformance``.

``tiers.py``: what is asked of which operator; ``judge.py``: the verdict on one case; ``runner.py``:
all cases on several processes; ``tables.py``: what they add up to; ``passed.py``: the list of cases
that have passed, which must not shrink.
"""
