"""The declarations of operator kinds, one file per family; ``ir/ops.py`` joins them to one table.

==================  ===========================================================================
``spec``            what a declaration consists of
``access``          access maps: which box of each operand a box of the result needs
``functions``       the functions of the vector unit, their meaning and their cost
``elementwise``     operators of one element of each operand: functions, tables, conversions
``moves``           operators that only move elements
``gathers``         operators that pick elements by computed indices
``windowed``        reductions of an axis, pools
``mac``             operators of the MAC array
``shapes``          rules of shapes        ``checks``  rules of types        ``workloads``  nests
==================  ===========================================================================
"""
