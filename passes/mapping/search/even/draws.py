"""Draw even mappings at random: uniformly, or with the array filled first.

Args:
    space: The mappings to draw from.
    count: How many.
    rng: Draws.
"""

import numpy as np
from numpy.typing import NDArray

from .space import EvenBatch, EvenSpace, stationary_choices

Ints = NDArray[np.int64]


def draw_uniform(space: EvenSpace, count: int, rng: np.random.Generator) -> EvenBatch:
    """Draw mappings that need not fit.

    Each prime factor goes to one of its dimension's places (levels and fan-outs), all equally
    likely; the order of each level is one of its distinct orders, all equally likely.
    """
    return _draw(space, count, rng, eager=0.0)


def draw_filling(space: EvenSpace, count: int, rng: np.random.Generator) -> EvenBatch:
    """Draw mappings that fill most of the array: a factor that still fits is mostly unrolled."""
    return _draw(space, count, rng, eager=0.85)


def _draw(space: EvenSpace, count: int, rng: np.random.Generator, eager: float) -> EvenBatch:
    slots, width = len(space.slots), len(space.dims)
    columns = slots * width + len(space.unrollable)
    table = np.ones((count, columns), np.int64)
    copies = [(dim, prime) for dim, prime, many in space.primes for _ in range(many)]
    fanouts = {fanout.name: at for at, fanout in enumerate(space.arch.fanouts)}
    used = np.ones((count, len(fanouts)), np.int64)
    sizes = np.array([fanout.size for fanout in space.arch.fanouts], np.int64)
    rows = np.arange(count)
    order = np.argsort(rng.random((len(copies), count)), axis=0) if eager else None
    for turn in range(len(copies)):
        chosen = order[turn] if order is not None else np.full(count, turn)
        for index in np.unique(chosen):
            dim, prime = copies[int(index)]
            mine = rows[chosen == index]
            column = space.dims.index(dim)
            temporal = [slot * width + column for slot in range(slots)]
            spatial = [
                (slots * width + at, fanouts[name])
                for at, (name, other) in enumerate(space.unrollable)
                if other is dim
            ]
            if not eager:
                places = np.array(temporal + [at for at, _ in spatial])
                table[mine, rng.choice(places, len(mine))] *= prime
                continue
            place = rng.choice(np.array(temporal), len(mine))
            free = rng.random(len(mine)) < eager
            for at, fanout in reversed(spatial):
                fits = free & (used[mine, fanout] * prime <= sizes[fanout])
                place = np.where(fits, at, place)
                used[mine[fits], fanout] *= prime
                free &= ~fits
            table[mine, place] *= prime
    choices = stationary_choices(space)
    return EvenBatch(
        space,
        table[:, : slots * width].reshape(count, slots, width),
        table[:, slots * width :],
        choices[rng.integers(0, len(choices), count)],
    )
