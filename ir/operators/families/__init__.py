"""The operator kinds, a table for each family.

- ``elementwise``: one element of each operand: functions, tables, conversions;
- ``moves``: operators that only move elements;
- ``gathers``: operators that pick elements by computed indices;
- ``windowed``: reductions of an axis, pools;
- ``mac``: operators of the MAC array, and their loop nests.
"""
