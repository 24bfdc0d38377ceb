"""The search for the best schedule of one operator.

- ``search``: the whole of it, over the tilings that are ``viable``;
- ``static_orders``, ``list_orders``, ``block_orders``: loop orders, the list scheduler, and blocks
  of accumulations in ``orders`` that no loop nest has;
- ``trials``: what was tried, and what is known so far.
"""
