"""Draw even mappings at random: uniformly by factors, by factorisations, or filling the array.

Args:
    space: The mappings to draw from.
    count: How many.
    rng: Draws.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .....ir.mapping import SpatialLoop
from .....ir.workload import Dim
from .space import EvenBatch, EvenSpace, prime_factors, stationary_choices

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


def draw_factorisations(
    space: EvenSpace,
    count: int,
    rng: np.random.Generator,
    spatial: Sequence[SpatialLoop] | None = None,
) -> EvenBatch:
    """Draw mappings that need not fit, every way to factorise the extents equally likely.

    Unlike :func:`draw_uniform`, which gives out each of a dimension's equal factors by itself, so
    that ways in which they lie apart are drawn more often. All have the first choice of orders.

    Args:
        space: The mappings to draw from.
        count: How many.
        rng: Draws.
        spatial: The unrolled loops where these are given; their extents divide those of the space.
    """
    slots, width = len(space.slots), len(space.dims)
    table = np.ones((count, slots * width + len(space.unrollable)), np.int64)
    left = dict(space.extents)
    for loop in spatial or ():
        if loop.extent > 1:
            table[:, slots * width + space.unrollable.index((loop.fanout, loop.dim))] *= loop.extent
            left[loop.dim] //= loop.extent
    for dim in space.dims:
        places = places_of(space, dim)[: slots if spatial is not None else None]
        for prime, many in prime_factors(left[dim]):
            table[:, places] *= prime ** _compositions(many, len(places), count, rng)
    return EvenBatch(
        space,
        table[:, : slots * width].reshape(count, slots, width),
        table[:, slots * width :],
        np.tile(stationary_choices(space)[0], (count, 1)),
    )


def places_of(space: EvenSpace, dim: Dim) -> list[int]:
    """Return the columns of a dimension: level by level in time, then its unrollings."""
    width, column = len(space.dims), space.dims.index(dim)
    temporal = [slot * width + column for slot in range(len(space.slots))]
    offset = len(space.slots) * width
    return temporal + [
        offset + at for at, (_, other) in enumerate(space.unrollable) if other is dim
    ]


def _compositions(total: int, parts: int, count: int, rng: np.random.Generator) -> Ints:
    """Draw ``[count, parts]`` of sum ``total``, all equally likely: bars between stars."""
    if parts == 1:
        return np.full((count, 1), total, np.int64)
    drawn = rng.random((count, total + parts - 1))
    bars = np.sort(np.argpartition(drawn, parts - 2, axis=1)[:, : parts - 1], axis=1)
    edges = np.full((count, 1), -1), bars, np.full((count, 1), total + parts - 1)
    return np.diff(np.concatenate(edges, axis=1), axis=1) - 1


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
