"""In which order, and on which NPU, the operations of a loop nest are issued."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import zip_longest
from typing import TypeAlias

from ....ir.isa.instructions import Unit
from ....ir.tiles.graph import Role, TileGraph, TileOp

Content: TypeAlias = int | str | tuple[int, int]
"""What operations hand on: a tile, a tensor, or a row of a tile that rolls."""

Chain = list[list[int]]
"""Turns that one NPU works through: those that add to one accumulator tile."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Operations that one NPU executes one right after the other.

    Attributes:
        npu: The NPU.
        ops: Numbers of the operations: one, or the last one that adds to accumulators, the one
            that finishes them, and those that work on what each before has made.
        tiles: Numbers of the tiles that they read and write, in the order of their first touch.
    """

    npu: int
    ops: tuple[int, ...]
    tiles: tuple[int, ...] = field(default=(), compare=False)


class Dealing(Enum):
    """Which NPUs get accumulations that are too few for all of them."""

    FROM_FIRST = "from first"
    """The first ones, so that each NPU keeps its tiles."""
    ON = "on"
    """Those after the last one that got work, so that all get as much."""
    ON_BY_UNIT = "on by unit"
    """Those after the last one that got work for the same unit: copies shift no products."""


def turn_of(graph: TileGraph, npu: int, numbers: Iterable[int]) -> Turn:
    """Return the turn of an NPU in which it executes some operations.

    Args:
        graph: Tiles and operations.
        npu: The NPU.
        numbers: Of the operations.
    """
    ops = tuple(numbers)
    chosen = (graph.ops[number] for number in ops)
    return Turn(npu, ops, tuple(dict.fromkeys(t for op in chosen for t in (*op.reads, op.out))))


def dealings(
    graph: TileGraph, npus: int, *, other_ways: bool = True
) -> Mapping[Dealing, tuple[Turn, ...]]:
    """Return the orders of issue by how accumulations are dealt out; on as well, if that differs.

    Args:
        graph: Tiles and operations.
        npus: How many share the work.
        other_ways: Whether to deal on at all.
    """
    first = issue_order(graph, npus)
    if npus == 1 or not other_ways:
        return {Dealing.FROM_FIRST: first}
    on = issue_order(graph, npus, Dealing.ON)
    return {Dealing.FROM_FIRST: first} | ({} if on == first else {Dealing.ON: on})


def issue_order(
    graph: TileGraph, npus: int, dealing: Dealing = Dealing.FROM_FIRST
) -> tuple[Turn, ...]:
    """Return operations in the order of issue: accumulations dealt out in turn, interleaved.

    Args:
        graph: Tiles and operations.
        npus: How many share the work.
        dealing: Which NPUs get those that are too few for all.
    """
    found_chains = chains(graph)
    if npus == 1:
        ordered = sorted(turn for chain in found_chains for turn in chain)
        return tuple(turn_of(graph, 0, turn) for turn in ordered)
    found: list[Turn] = []
    dealt = Counter[Unit | None]()
    for batch in _batches(graph, found_chains, npus):
        takers: list[int] = []
        for place, chain in enumerate(batch):
            unit = graph.ops[chain[0][0]].unit if dealing is Dealing.ON_BY_UNIT else None
            takers.append(place if dealing is Dealing.FROM_FIRST else dealt[unit] % npus)
            dealt[unit] += 1
        found += _dealt_out(graph, batch, takers)
    return tuple(found)


def chains(graph: TileGraph) -> list[Chain]:
    """Return the operations as accumulations, each with what finishes it and goes on with that.

    Args:
        graph: Tiles and operations.
    """
    found: dict[tuple[str, int], Chain] = {}
    turn: list[int] = []
    for number, op in enumerate(graph.ops):
        if any(_goes_on(graph, before, number) for before in turn):
            turn.append(number)
            continue
        sums = graph.sums_of(op)
        chain = found.setdefault(("op", number) if sums is None else ("sums", sums), [])
        if graph.finishes(op):
            turn = chain[-1]
            turn.append(number)
        else:
            turn = [number]
            chain.append(turn)
    return list(found.values())


def _goes_on(graph: TileGraph, before: int, number: int) -> bool:
    """Whether an operation takes up all that the one before it has made.

    If several make different tiles of it, as the rows of a softmax of their sums, all of these
    would be needed at once: then none goes on.
    """
    made, op = graph.ops[before].out, graph.ops[number]
    if graph.tiles[made].role is not Role.INNER or op.accumulates:
        return False
    if graph.writers[made] != (before,) or made not in op.reads:
        return False
    readers = (graph.ops[reader] for reader in graph.readers[made])
    return all(reader.accumulates or reader.out == op.out for reader in readers)


def _batches(graph: TileGraph, chains: Sequence[Chain], npus: int) -> Iterator[list[Chain]]:
    """Yield chains that run side by side.

    None reads what another one writes, nor writes where rows lie that another one reads.
    """
    batch: list[Chain] = []
    written: set[Content] = set()
    rows_read: set[Content] = set()
    for chain in chains:
        ops = [graph.ops[number] for turn in chain for number in turn]
        read = {item for op in ops for tile in op.reads for item in contents(graph, op, tile)}
        taken = {item for op in ops for item in replaced(graph, op)}
        if len(batch) == npus or read & written or taken & rows_read:
            yield batch
            batch, written, rows_read = [], set(), set()
        batch.append(chain)
        written |= {item for op in ops for item in contents(graph, op, op.out)}
        rows_read |= read
    if batch:
        yield batch


def contents(graph: TileGraph, op: TileOp, number: int) -> Iterable[Content]:
    """Return what an operation touches of a tile: rows of one that rolls, else all that it holds.

    A resident tensor is the same in whatever tiles.

    Args:
        graph: Tiles and operations.
        op: The operation.
        number: Of the tile.
    """
    tile, rows = graph.tiles[number], graph.rows(op, number)
    if rows is None:
        return (tile.tensor if tile.is_resident else number,)
    return ((number, row) for row in rows)


def replaced(graph: TileGraph, op: TileOp) -> Iterable[Content]:
    """Return the rows whose place an operation takes.

    Args:
        graph: Tiles and operations.
        op: The operation.
    """
    rolls = graph.tiles[op.out].rolls
    return ((op.out, row - rolls) for row in graph.rows(op, op.out) or ())


def _dealt_out(graph: TileGraph, batch: Sequence[Chain], npus: Sequence[int]) -> Iterator[Turn]:
    """Yield the turns of chains, each of which one NPU works through."""
    for row in zip_longest(*batch):
        dealt = zip(npus, row, strict=True)
        yield from (turn_of(graph, npu, turn) for npu, turn in dealt if turn is not None)
