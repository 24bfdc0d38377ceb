"""Cut a fused group into tiles, stripe by stripe and member by member.

    conv a -> conv b -> add  (rows = 2)      ->      stripe 0: a rows 0-2; b, add rows 0-1
                                                     stripe 1: keep a rows 1-2; a rows 3-4; ...

Members follow each other in *chains*: an operator of the MAC array, a pool or a reduction, and then
what works on every tile that it finishes (:mod:`.chains`). What a chain hands to a later
one lies in *lines*, an inner tile with all columns and channels of the rows that are read in a
stripe; what others read, too, is stored from its lines, or lies whole on chip. A group of one chain
that makes all rows at once is cut by the loop nest of its first member alone.

Chains may lag, from some of them on a stripe more than those before, operations of all stripes in
work mixed, so that the vector unit finishes what one chain made while the array works for another.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....ir.arch import Architecture
from ....ir.errors import InfeasibleError
from ....ir.graph import Graph
from ....ir.mapping import LoopNest
from ....ir.operators.families.moves import joins_channels
from ....ir.tiles.graph import Range, Tile, TileGraph
from ..collect import TileCollector
from ..residency import Residency
from .chain_tiles import ChainBlocks, ChainTiler
from .chains import Chain, chains
from .homes import Homes, home_of, homes_of
from .line_tiles import Block, LineTiles, RollingLines
from .lines import bytes_of_lines
from .members import Members
from .stripes import Stripe, hands_out, stripes

Ints = NDArray[np.int64]

_Tiled = tuple[TileCollector, Sequence[Sequence[ChainBlocks]]]
"""Tiles, and what is done by stripe and chain."""


class OpPlace(NamedTuple):
    """Where an operation stands among those of a group's stripes.

    Attributes:
        turn: Number of the turn; what does not lag does this stripe.
        lag: How many stripes it lags.
    """

    turn: int
    lag: int


@dataclass(frozen=True)
class GroupTiles:
    """The tiles of a fused group, to be put in order with more or less lag.

    Attributes:
        graph: The network.
        members: Names of its operators, in execution order.
        rows: Rows of the last result that a stripe makes; 0: all.
        nests: Loops of the members that the MAC array runs, over the rows that are made at a time.
        arch: The machine.
        place: What is resident and what is moved in tiles.
        first: How many stripes to tile; all of them by default.
        is_early: Whether rows that are kept are copied as soon as lines have been read: takes less
            space, and more copies.
        shares_copies: Whether all NPUs share each copy of rows that are kept.
        is_apart: Whether first additions are operations of their own, where that helps.
        rolls: Results whose lines roll, of :meth:`may_roll`.
    """

    graph: Graph
    members: Sequence[str]
    rows: int
    nests: Mapping[str, LoopNest]
    arch: Architecture
    place: Residency
    first: int | None = None
    is_early: bool = False
    shares_copies: bool = False
    is_apart: bool = False
    rolls: frozenset[str] = frozenset()

    def in_order(self, behind: Collection[int] = (), most: int | None = None) -> TileGraph:
        """Return the tile graph.

        Args:
            behind: Which chains lag one stripe more than the chain before, of :attr:`may_lag`.
            most: Of how many stripes, the first ones; all of them by default.

        Raises:
            InfeasibleError: A nest cuts channels so that no tile can be handed on, or rows of a
                result that others read would have to be kept.
            VerifyError: A member has no loop nest.
        """
        if not self.hands_out:
            raise InfeasibleError(
                f"stripes of group %{self.members[-1]} keep rows of a result that others read",
                hint="let the group end there, or make all rows at once",
            )
        collector = self._tiled[0]
        found = replace(collector, ops=[], tiles=self._with_rows(collector.tiles, behind))
        for _, block in self._in_turns(behind, most):
            for op in block:
                found.add(op)
        return found.finish()

    def _with_rows(self, tiles: Sequence[Tile], behind: Collection[int]) -> list[Tile]:
        """Return tiles, those that roll with as many rows as are there at once."""
        rows = self.may_roll(behind) if self.rolls else dict[str, int]()
        return [replace(tile, rolls=rows[tile.tensor]) if tile.rolls else tile for tile in tiles]

    def numbers(self, behind: Collection[int] = (), most: int | None = None) -> Ints:
        """Return the operations of :meth:`in_order` by their numbers where no chain lags.

        Args:
            behind: Which chains lag.
            most: Of how many stripes; all of them by default.
        """
        blocks = (block for _, block in self._in_turns(behind, most))
        found = [self._begins[id(block)] + place for block in blocks for place in range(len(block))]
        return np.array(found, np.int64)

    @cached_property
    def _begins(self) -> Mapping[int, int]:
        """Number of the first operation of each block where no chain lags, by its identity."""
        blocks = [block for _, block in self._in_turns((), None)]
        ends = accumulate(map(len, blocks), initial=0)
        return {id(block): begin for block, begin in zip(blocks, ends, strict=False)}

    def places(self, behind: Collection[int] = (), most: int | None = None) -> tuple[OpPlace, ...]:
        """Return where each operation of :meth:`in_order` stands.

        Args:
            behind: Which chains lag.
            most: Of how many stripes; all of them by default.
        """
        return tuple(place for place, block in self._in_turns(behind, most) for _ in block)

    def _in_turns(
        self, behind: Collection[int], most: int | None
    ) -> Iterator[tuple[OpPlace, Block]]:
        lags, rounds = _lags(self.chains, behind), self._tiled[1][:most]
        for turn in range(len(rounds) + len(behind)):
            for lag, block in _mixed(self._of_turn(turn, lags, rounds)):
                yield OpPlace(turn, lag), block

    def _of_turn(
        self, turn: int, lags: Mapping[str, int], rounds: Sequence[Sequence[ChainBlocks]]
    ) -> Sequence[Sequence[Block]]:
        """Return what is done in one turn, by how many stripes it lags.

        Rows that lines keep are copied by the first chain that writes to these and is as far, so
        that the old lines end soon.

        Args:
            turn: Its number; what does not lag does this stripe.
            lags: How many stripes each chain is behind.
            rounds: What is done by stripe and chain.
        """
        found: list[list[Block]] = [[] for _ in range(max(lags.values()) + 1)]
        copied: set[str] = set()
        for number, (name, lag) in enumerate(lags.items()):
            if not 0 <= turn - lag < len(rounds):
                continue
            done, home = rounds[turn - lag][number], home_of(self._homes, name).tensor
            found[lag] += done.joined
            if done.kept and home not in copied and lag == lags[home]:
                found[lag] += done.kept
                copied.add(home)
            found[lag] += done.blocks
        return found

    @cached_property
    def chains(self) -> tuple[Chain, ...]:
        """The members as chains."""
        return chains(self.graph, self.members)

    @cached_property
    def hands_out(self) -> bool:
        """Whether what others read of its members can be stored, or lies whole on chip."""
        return hands_out(self.graph, self.members, self.rows, self.place.addresses)

    @cached_property
    def line_bytes(self) -> int:
        """What its lines take, if no chain lags [byte]."""
        return bytes_of_lines(
            self.graph, self.members, self.rows, self.place.addresses, is_early=self.is_early
        )

    @cached_property
    def may_lag(self) -> tuple[int, ...]:
        """Which chains can lag behind the one before, by number: none where there is one stripe.

        A concatenation goes with what is before it.
        """
        if len(self._stripes) < 2:
            return ()
        numbers = range(1, len(self.chains))
        return tuple(item for item in numbers if not joins_channels(self.chains[item][0]))

    def may_roll(self, behind: Collection[int] = ()) -> Mapping[str, int]:
        """Return the results whose lines can roll, with the rows that are there at once.

        Those are the rows of one stripe, and of as many more as the last chain that reads them is
        behind the one that makes them.

        Args:
            behind: Which chains lag.
        """
        lags = _lags(self.chains, behind)
        lag_of = {op.name: lags[chain[-1].name] for chain in self.chains for op in chain}
        found: dict[str, int] = {}
        for name, lines in self._kept_lines.items():
            late = max(lag_of[op.name] for op in self.graph.consumers[name]) - lag_of[name]
            pairs = zip(lines, (*(lines[:1] * late), *lines), strict=False)
            found[name] = max(now.stop - old.start for now, old in pairs)
        return found

    @cached_property
    def _kept_lines(self) -> Mapping[str, tuple[Range, ...]]:
        """Images that members make and others read in lines that keep rows: those of each stripe.

        Not those that lie in concatenations, on chip whole, or are stored from their lines.
        """
        shared = {home.tensor for home in self._homes.values()} | self._homes.keys()
        found: dict[str, tuple[Range, ...]] = {}
        for op in (chain[-1] for chain in self.chains):
            every = (item.lines.get(op.name) for item in self._all_stripes)
            lines = tuple(rows for rows in every if rows is not None)
            is_apart = op.name in shared | self._members.ends | self._members.handed_out
            if is_apart or self._members.is_resident(op.name) or len(op.result.type.shape) != 4:
                continue
            if any(then.start < now.stop for now, then in pairwise(lines)):
                found[op.name] = lines
        return found

    @cached_property
    def _members(self) -> Members:
        return Members(self.graph, self.chains, self.rows, self.place, self._homes)

    def rolling_first(self, behind: Collection[int]) -> tuple[str, ...]:
        """Return the results whose lines can roll, those first that copy most otherwise.

        Args:
            behind: Which chains lag.
        """
        types = self.graph.types
        return tuple(sorted(self.may_roll(behind), key=lambda name: (-types[name].bytes, name)))

    @cached_property
    def _homes(self) -> Homes:
        return homes_of(self.graph, self.members)

    @property
    def count(self) -> int:
        """How many stripes the group has, tiled or not."""
        return len(self._all_stripes)

    @cached_property
    def _all_stripes(self) -> tuple[Stripe, ...]:
        return stripes(self.graph, self.members, self.rows)

    @property
    def _stripes(self) -> tuple[Stripe, ...]:
        return self._all_stripes[: self.first]

    @cached_property
    def _tiled(self) -> _Tiled:
        """All tiles, and what each chain does in each stripe, whatever lags."""
        sharing = len(self.arch.npus) if self.shares_copies else 1
        at_once = self.may_roll()
        rolling = {
            name: RollingLines(Range(lines[0].start, lines[-1].stop), at_once[name])
            for name, lines in self._kept_lines.items()
            if name in self.rolls
        }
        lines = LineTiles(self._members, TileCollector(self.members[-1]), sharing, rolling)
        run = ChainTiler(lines, self.nests, self.arch, self.is_early, self.is_apart)
        rounds = zip(self._stripes, (*self._stripes[1:], None), strict=True)
        return lines.collector, [run.blocks(stripe, then) for stripe, then in rounds]


def _lags(parts: Sequence[Chain], behind: Collection[int]) -> Mapping[str, int]:
    """Return how many stripes each chain is behind, by its result and in their order."""
    lags = accumulate(int(number in behind) for number in range(len(parts)))
    return {chain[-1].name: lag for chain, lag in zip(parts, lags, strict=True)}


def _mixed(parts: Sequence[Sequence[Block]]) -> Iterator[tuple[int, Block]]:
    """Yield sequences as one, evenly mixed, each block with the number of its own."""
    places = [
        ((place + 1) / len(blocks), number, block)
        for number, blocks in enumerate(parts)
        for place, block in enumerate(blocks)
    ]
    for _, number, block in sorted(places, key=lambda item: item[:2]):
        yield number, block
