"""Loop prime factors: the indivisible loops that an order is a permutation of."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping

from .....ir.mapping import Loop
from .....ir.workload import DIMS, Dim
from ..even.space import prime_factors

_JOINED_FIRST = (Dim.N, Dim.G, Dim.K, Dim.C, Dim.P, Dim.Q, Dim.R, Dim.S)


def loop_prime_factors(temporal: Mapping[Dim, int], limit: int | None = None) -> tuple[Loop, ...]:
    """Return the loops of a workload, split into prime factors, in a canonical order.

    Args:
        temporal: Steps of each dimension.
        limit: Most loops; factors are joined until so few are left, though every dimension keeps
            one: of the dimension with the most loops (ties in the order ``N G K C P Q R S``), the
            two smallest. This is LOMA's ``lpf_limit``.
    """
    factors = {
        dim: [prime for prime, many in prime_factors(temporal[dim]) for _ in range(many)]
        for dim in DIMS
    }
    while limit is not None and sum(map(len, factors.values())) > limit:
        longest = max((factors[dim] for dim in _JOINED_FIRST), key=len)
        if len(longest) < 2:
            break
        first, second, *rest = longest
        longest[:] = sorted([first * second, *rest])
    return tuple(Loop(dim, factor) for dim, own in factors.items() for factor in own)


def count_orders(loops: Iterable[Loop]) -> int:
    """Return how many distinct orders there are: ``n! / prod(k_i!)``, the paper's eq. (1)."""
    multiplicities = Counter(loops)
    orders = math.factorial(multiplicities.total())
    for multiplicity in multiplicities.values():
        orders //= math.factorial(multiplicity)
    return orders
