"""Order and residency as integer programs, after the paper's equations.

==================  =============================================================================
``formulation.py``  variables and constraints that the programs share
``reduced.py``      the capacity as a sum, addresses left for later
``literal.py``      the paper's own program: order, replacement and addresses at once
==================  =============================================================================
"""
