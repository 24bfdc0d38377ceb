"""COSMA: operator order, residency and addresses as one integer program.

================  ===============================================================================
``problem.py``    what is decided on: tensors, operators with their menus, and a budget
``menu.py``       which tensors an operator may stream, through which workspace
``budgets.py``    the scratchpad sizes of the paper, and how a user names one
``traffic/``      what operators and groups move off chip, and what their cycles are worth
``search/``       order and residency by best-first search, with its bounds
``program/``      order and residency as integer programs
``packing/``      addresses: blocks of memory that do not overlap in address x time
``plan.py``       a residency plan, still without addresses
``repair.py``     what leaves the scratchpad so that a plan can be packed
``solve.py``      a problem solved in two stages, residency first, addresses second
``decode.py``     the graph schedule of a plan with addresses
``workspaces.py``  workspaces that grow into what nobody uses
``baselines.py``  the schemes that the paper compares with
``refine.py``     plans with a fast traffic model that is corrected where they rely on it
``smallest.py``   the smallest scratchpad that a network can be planned with
``schedule.py``   all of it: a graph and a machine in, a graph schedule with its bound out
================  ===============================================================================
"""
