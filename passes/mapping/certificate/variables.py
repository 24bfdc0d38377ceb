"""The variables of the mapping problem, and the quantities that are linear in them.

- *Counts*: how many of a dimension's equal prime factors a slot takes; a slot is the temporal
  loops of one level, or one fan-out.
- *Logs*: ``x = sum(ln p * count)``, the logarithm of a dimension's extent in a slot.
- *Halo*: logarithm of the rows (and columns) that an input tile touches: a convex combination over
  the tile's possible extents of outputs and taps; exact at each of them.
- *Stationary*: one binary per slot and operand: whose irrelevant loops stand innermost. From it
  follows the *reuse* that visits are spared.
"""

import math
from collections.abc import Sequence

from ....ir.arch import Fanout
from ....ir.workload import REDUCTION, RELEVANT, Dim, Operand, touched
from ...analysis.flows import Factors
from ...mip.linear import ZERO, Linear, total
from ...mip.model import MipModel
from ..search.even.space import EvenBatch, EvenSpace, even_from_factors

_Slot = int | str
"""Temporal loops of a level (by index), or a fan-out (by name)."""


class Variables:
    """Variables of one model, with the constraints that give them their meaning.

    Args:
        model: The model to add to.
        space: What is mapped.
        skipped: Slots (level indices) without temporal loops.
    """

    def __init__(self, model: MipModel, space: EvenSpace, skipped: frozenset[int]) -> None:
        self.model = model
        self.space = space
        self.slots = tuple(level for level in space.slots if level not in skipped)
        self.psum_bits = max(space.arch.accumulator_bits, space.workload.output_bits)
        self.counts: dict[tuple[_Slot, Dim, int], Linear] = {}
        self._logs: dict[tuple[_Slot, Dim], Linear] = {}
        self._tiles: dict[tuple[Operand, int], Linear] = {}
        self._reuse: dict[tuple[Operand, int], Linear] = {}
        self.stationary: dict[tuple[int, Operand], Linear] = {}
        self._idle: dict[tuple[int, Operand], Linear] = {}
        self.spills: dict[int, Linear] = {}
        self._reduced: dict[tuple[str, ...], Linear] = {}
        self._add_counts()
        self._add_stationary()

    # -- counts and logs -----------------------------------------------------------------------

    def _add_counts(self) -> None:
        spatial: dict[Dim, list[_Slot]] = {dim: [] for dim in self.space.dims}
        for name, dim in self.space.unrollable:
            spatial[dim].append(name)
        for dim, prime, multiplicity in self.space.primes:
            slots: list[_Slot] = [*self.slots, *spatial[dim]]
            for slot in slots:
                if isinstance(slot, str) and prime > self.space.arch.fanout(slot).size:
                    continue
                self.counts[slot, dim, prime] = self.model.integer(0, multiplicity)
            own = [
                self.counts[slot, dim, prime] for slot in slots if (slot, dim, prime) in self.counts
            ]
            self.model.add_equal(total(own), multiplicity)
        for slot, dim, prime in self.counts:
            known = self._logs.get((slot, dim), ZERO)
            self._logs[slot, dim] = known + self.counts[slot, dim, prime] * math.log(prime)
        for key, expression in self._logs.items():
            if len(expression.terms) > 1:
                variable = self.model.continuous()
                self.model.add_equal(expression, variable)
                self._logs[key] = variable

    def log(self, slot: _Slot, dims: Sequence[Dim] | frozenset[Dim]) -> Linear:
        """Return the logarithm of a slot's extents along some dimensions."""
        return total(
            self._logs[slot, dim]
            for dim in self.space.dims
            if dim in dims and (slot, dim) in self._logs
        )

    @property
    def steps(self) -> Linear:
        """Logarithm of the steps of all temporal loops."""
        return total(self.log(level, self.space.dims) for level in self.slots)

    def fanouts(self, top: int, bottom: int) -> tuple[Fanout, ...]:
        """Return the fan-outs between two levels, by index."""
        arch = self.space.arch
        return tuple(item for item in arch.fanouts if top <= arch.index(item.below) < bottom)

    def unrolled(self, fanouts: Sequence[Fanout]) -> Linear:
        """Return the logarithm of the children that take part."""
        return total(self.log(fanout.name, self.space.dims) for fanout in fanouts)

    def product(self, operand: Operand, factors: Factors) -> Linear:
        """Return the logarithm of a product of unrolled extents of the flow table."""
        dims: dict[tuple[bool, ...], Sequence[Dim] | frozenset[Dim]] = {
            (True,): RELEVANT[operand],
            (False,): frozenset(self.space.dims) - RELEVANT[operand],
            (False, True): self.space.dims,
        }
        found: list[Linear] = []
        for fanout in self.space.arch.fanouts:
            parts = tuple(part for part in (False, True) if (fanout.name, part) in factors)
            if parts:
                found.append(self.log(fanout.name, dims[parts]))
        return total(found)

    def _inside(self, dim: Dim, level: int) -> Linear:
        """Return the logarithm of a tile's extent along one dimension."""
        temporal = (self.log(slot, (dim,)) for slot in self.slots if slot >= level)
        beneath = self.fanouts(level, len(self.space.arch.levels))
        return total([*temporal, *(self.log(fanout.name, (dim,)) for fanout in beneath)])

    # -- tiles ---------------------------------------------------------------------------------

    def tile(self, operand: Operand, level: int) -> Linear:
        """Return the logarithm of the elements of an operand's tile at a level."""
        if (operand, level) not in self._tiles:
            self._tiles[operand, level] = self._tile(operand, level)
        return self._tiles[operand, level]

    def _tile(self, operand: Operand, level: int) -> Linear:
        if operand is not Operand.I:
            return total(self._inside(dim, level) for dim in RELEVANT[operand])
        stride, dilation = self.space.workload.stride, self.space.workload.dilation
        plain = [self._inside(dim, level) for dim in (Dim.C, Dim.N, Dim.G)]
        rows = self._halo(Dim.P, Dim.R, stride[0], dilation[0], level)
        columns = self._halo(Dim.Q, Dim.S, stride[1], dilation[1], level)
        return total([*plain, rows, columns])

    def _halo(self, outputs: Dim, taps: Dim, stride: int, dilation: int, level: int) -> Linear:
        if self.space.extents[outputs] == 1 or self.space.extents[taps] == 1:
            return self._inside(outputs, level) + self._inside(taps, level)
        points = [
            (math.log(p), math.log(r), math.log(touched(p, r, stride, dilation)))
            for p in divisors(self.space.extents[outputs])
            for r in divisors(self.space.extents[taps])
        ]
        weights = [self.model.continuous(0.0, 1.0) for _ in points]
        self.model.add_equal(total(weights), 1.0)
        for at, dim in enumerate((outputs, taps)):
            mean = total(weight * point[at] for weight, point in zip(weights, points, strict=True))
            self.model.add_equal(mean, self._inside(dim, level))
        rows = self.model.continuous()
        mean = total(weight * point[2] for weight, point in zip(weights, points, strict=True))
        self.model.add_equal(mean, rows)
        return rows

    # -- reuse ---------------------------------------------------------------------------------

    def _add_stationary(self) -> None:
        for slot in self.slots:
            inner = self.space.movable[self.space.slots.index(slot)]
            if not inner:
                continue
            if slot != self.slots[0]:
                for operand in inner:
                    self._idle[slot, operand] = self._idle_slot(slot, operand)
            if len(inner) == 1:
                self.stationary[slot, inner[0]] = Linear({}, 1.0)
                continue
            for operand in inner:
                self.stationary[slot, operand] = self.model.binary()
            chosen = total(self.stationary[slot, operand] for operand in inner)
            self.model.add_at_most(chosen, 1.0)

    def _idle_slot(self, slot: int, operand: Operand) -> Linear:
        """Return a binary that, at one, bars loops that index an operand from a slot."""
        idle = self.model.binary()
        for dim, prime, many in self.space.primes:
            if dim in RELEVANT[operand] and (slot, dim, prime) in self.counts:
                self.model.add_at_most(self.counts[slot, dim, prime] + idle * many, many)
        return idle

    def visits(self, operand: Operand, level: int) -> Linear:
        """Return the logarithm of how often an operand's tile at a level changes."""
        outer = total(self.log(slot, self.space.dims) for slot in self.slots if slot < level)
        return outer - self.reuse(operand, level)

    def tiles(self, level: int) -> Linear:
        """Return the logarithm of the different output tiles that a level sees."""
        return total(self.log(slot, RELEVANT[Operand.O]) for slot in self.slots if slot < level)

    def reuse(self, operand: Operand, level: int) -> Linear:
        """Return the logarithm of the steps during which a tile at a level remains."""
        if (operand, level) not in self._reuse:
            self._reuse[operand, level] = self._add_reuse(operand, level)
        return self._reuse[operand, level]

    def _add_reuse(self, operand: Operand, level: int) -> Linear:
        irrelevant = [dim for dim in self.space.dims if dim not in RELEVANT[operand]]
        most = math.fsum(math.log(self.space.extents[dim]) for dim in irrelevant)
        if most == 0.0:
            return ZERO
        parts: list[Linear] = []
        alive: Linear | None = None
        for slot in reversed([slot for slot in self.slots if slot < level]):
            kept = self.model.continuous(0.0, most)
            self.model.add_at_most(kept, self.log(slot, irrelevant))
            chosen = self.stationary[slot, operand]
            if not chosen.is_constant:
                self.model.add_at_most(kept, most * chosen)
            if alive is not None:
                self.model.add_at_most(kept, most * alive)
            parts.append(kept)
            if slot != self.slots[0]:
                alive = self._alive(self._idle[slot, operand], alive)
        return total(parts)

    def _alive(self, idle: Linear, inside: Linear | None) -> Linear:
        if inside is None:
            return idle
        alive = self.model.continuous(0.0, 1.0)
        self.model.add_at_most(alive, idle)
        self.model.add_at_most(alive, inside)
        return alive

    # -- partial sums --------------------------------------------------------------------------

    def repeats(self, level: int) -> Linear:
        """Return the logarithm of visits per different output tile at a level."""
        irrelevant = [dim for dim in self.space.dims if dim in REDUCTION]
        outer = total(self.log(slot, irrelevant) for slot in self.slots if slot < level)
        return outer - self.reuse(Operand.O, level)

    @property
    def most_repeats(self) -> float:
        """Largest logarithm of visits per output tile."""
        return math.fsum(math.log(self.space.extents[dim]) for dim in REDUCTION)

    @property
    def least_repeats(self) -> float:
        """Smallest logarithm of visits per output tile that is not zero."""
        primes = [prime for dim, prime, _ in self.space.primes if dim in REDUCTION]
        return math.log(min(primes, default=1))

    def spill(self, level: int) -> Linear:
        """Return a binary that is one where output tiles of a level come back."""
        if level not in self.spills:
            if self.most_repeats == 0.0:
                self.spills[level] = ZERO
            else:
                spill = self.model.binary()
                self.model.add_at_most(self.repeats(level), self.most_repeats * spill)
                self.spills[level] = spill
        return self.spills[level]

    def reducing(self, fanouts: Sequence[Fanout]) -> tuple[Fanout, ...]:
        """Return the fan-outs that may add up sums."""
        pairs = self.space.unrollable
        return tuple(
            fanout
            for fanout in fanouts
            if any(name == fanout.name and dim in REDUCTION for name, dim in pairs)
        )

    def reduced(self, fanouts: Sequence[Fanout]) -> Linear:
        """Return a binary that is one where any of the fan-outs adds up sums."""
        key = tuple(fanout.name for fanout in fanouts)
        if key not in self._reduced:
            flag = self.model.binary()
            for fanout in fanouts:
                used = self.log(fanout.name, REDUCTION)
                self.model.add_at_most(used, math.log(fanout.size) * flag)
            self._reduced[key] = flag
        return self._reduced[key]

    def width(self, reducing: Sequence[Fanout]) -> Linear:
        """Return the logarithm of the width of a last output, where fan-outs may add up sums."""
        out = math.log(self.space.workload.output_bits)
        if not reducing:
            return Linear({}, out)
        return (math.log(self.psum_bits) - out) * self.reduced(reducing) + out

    # -- solutions -----------------------------------------------------------------------------

    def decode(self, values: Sequence[float]) -> EvenBatch:
        """Return the mapping of a solution."""

        def value(expression: Linear) -> float:
            return expression.constant + sum(
                weight * values[index] for index, weight in expression.terms.items()
            )

        extents: dict[tuple[_Slot, Dim], int] = {}
        for (slot, dim, prime), count in self.counts.items():
            extents[slot, dim] = extents.get((slot, dim), 1) * prime ** round(value(count))
        chosen = {key: value(expression) for key, expression in self.stationary.items()}
        stationary = [
            max(Operand, key=lambda item, at=slot: chosen.get((at, item), -1.0))
            for slot in self.space.slots
        ]
        temporal = {
            (slot, dim): extent for (slot, dim), extent in extents.items() if isinstance(slot, int)
        }
        spatial = {
            (slot, dim): extent for (slot, dim), extent in extents.items() if isinstance(slot, str)
        }
        return even_from_factors(self.space, temporal, spatial, stationary)


def divisors(number: int) -> list[int]:
    """Return all divisors, smallest first."""
    return [item for item in range(1, number + 1) if number % item == 0]
