"""The order of issue in plain Python: what judges the compiled one."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from accnn.backend.load import load_architecture
from accnn.ir.tiles.graph import Role, TileGraph, TileOp
from accnn.passes.scheduling.engine.kernel.arrays import NPU, OPS, TILES, IssueOrder, TileArrays
from accnn.passes.scheduling.static.issue_order import Dealing
from accnn.passes.scheduling.static.tables import GraphTables

Turn = tuple[int, tuple[int, ...]]
"""An NPU, and the operations that it executes one right after the other."""

Accumulation = list[list[int]]
"""Turns that one NPU works through."""


def arrays_of(graph: TileGraph, npus: int = 1) -> TileArrays:
    """Return tiles and operations, of so many NPUs."""
    return GraphTables(graph, load_architecture("edge-1m")).tiles._replace(npus=npus)


def turns_of(order: IssueOrder) -> list[Turn]:
    """Return the turns of an order."""
    rows = zip(order.turns[:-1].tolist(), order.turns[1:].tolist(), strict=True)
    return [(row[NPU], tuple(order.ops[row[OPS] : end[OPS]].tolist())) for row, end in rows]


def tiles_of_turns(order: IssueOrder) -> list[list[int]]:
    """Return which tiles each turn touches."""
    rows = zip(order.turns[:-1].tolist(), order.turns[1:].tolist(), strict=True)
    return [order.tiles[row[TILES] : end[TILES]].tolist() for row, end in rows]


def plain_order(graph: TileGraph, npus: int, dealing: Dealing) -> list[Turn]:
    """Return operations in the order of issue."""
    found = plain_accumulations(graph)
    if npus == 1:
        return [(0, tuple(turn)) for turn in sorted(turn for item in found for turn in item)]
    dealt, turns = Counter[object](), list[Turn]()
    for batch in _batches(graph, found, npus):
        takers: list[int] = []
        for place, item in enumerate(batch):
            unit = graph.ops[item[0][0]].unit if dealing is Dealing.ON_BY_UNIT else None
            takers.append(place if dealing is Dealing.FROM_FIRST else dealt[unit] % npus)
            dealt[unit] += 1
        for row in zip_longest(*batch):
            turns += [(npu, tuple(turn)) for npu, turn in zip(takers, row, strict=True) if turn]
    return turns


def plain_accumulations(graph: TileGraph) -> list[Accumulation]:
    """Return operations as accumulations, each with what finishes it and goes on with that."""
    found: dict[object, Accumulation] = {}
    turn: list[int] = []
    for number, op in enumerate(graph.ops):
        if any(_goes_on(graph, before, number) for before in turn):
            turn.append(number)
            continue
        sums = graph.sums_of(op)
        own = found.setdefault(("op", number) if sums is None else ("sums", sums), [])
        if graph.finishes(op):
            turn = own[-1]
            turn.append(number)
        else:
            turn = [number]
            own.append(turn)
    return list(found.values())


def _goes_on(graph: TileGraph, before: int, number: int) -> bool:
    made, op = graph.ops[before].out, graph.ops[number]
    is_handed_on = graph.tiles[made].role is Role.INNER and graph.writers[made] == (before,)
    if op.accumulates or not is_handed_on or made not in op.reads:
        return False
    readers = (graph.ops[reader] for reader in graph.readers[made])
    return all(reader.accumulates or reader.out == op.out for reader in readers)


def _batches(
    graph: TileGraph, found: Sequence[Accumulation], npus: int
) -> Iterator[list[Accumulation]]:
    batch: list[Accumulation] = []
    written, rows_read = set[object](), set[object]()
    for item in found:
        ops = [graph.ops[number] for turn in item for number in turn]
        read = {
            content for op in ops for tile in op.reads for content in _contents(graph, op, tile)
        }
        taken = {content for op in ops for content in _replaced(graph, op)}
        if len(batch) == npus or read & written or taken & rows_read:
            yield batch
            batch, written, rows_read = [], set(), set()
        batch.append(item)
        written |= {content for op in ops for content in _contents(graph, op, op.out)}
        rows_read |= read
    yield batch


def _contents(graph: TileGraph, op: TileOp, number: int) -> Iterable[object]:
    """Yield what an operation touches of a tile: rows of one that rolls, or all that it holds."""
    tile, rows = graph.tiles[number], graph.rows(op, number)
    if rows is None:
        return (tile.tensor if tile.is_resident else number,)
    return ((number, row) for row in rows)


def _replaced(graph: TileGraph, op: TileOp) -> Iterable[object]:
    """Yield the rows whose place an operation takes."""
    rolls = graph.tiles[op.out].rolls
    return ((op.out, row - rolls) for row in graph.rows(op, op.out) or ())
