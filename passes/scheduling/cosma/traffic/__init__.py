"""What an operator, or a fused group, moves off chip, and what its cycles are worth.

================  ===============================================================================
``model.py``      what is asked, and who answers
``delay.py``      what cycles are worth in off-chip bytes
``tilings.py``    all tilings of an operator of the MAC array, and the least that they move
``groups.py``     fused groups, roughly
``streaming.py``  all operators, roughly
``tiled.py``      as compiled: mapped, and cut into tiles that are counted
================  ===============================================================================
"""
