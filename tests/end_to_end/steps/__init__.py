"""Steps of random networks that know every operator: :func:`any_network` takes some.

- ``functions``: of each element, of one operand or more
- ``axes``: reductions, normalisations, running sums, transforms
- ``moves``: what is picked, laid elsewhere, repeated, padded
- ``products``: products, convolutions, pools, recurrent operators
- ``quantised``: operators on integers of eight bits
"""

from .any_step import STEPS, any_network

__all__ = ["STEPS", "any_network"]
