"""In which order, and on which NPU, the operations of a loop nest are issued."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from ...ir.tiles import TileGraph


@dataclass(frozen=True, slots=True)
class Turn:
    """Operations that one NPU executes one right after the other.

    Attributes:
        npu: The NPU.
        ops: Numbers of the operations: one, or the last one that adds to accumulators and the one
            that finishes them.
    """

    npu: int
    ops: tuple[int, ...]


def issue_order(graph: TileGraph, npus: int) -> tuple[Turn, ...]:
    """Return operations in the order of issue: accumulations dealt out in turn, interleaved."""
    chains: dict[tuple[str, int], list[list[int]]] = {}
    for number, op in enumerate(graph.ops):
        sums = graph.sums_of(op)
        chain = chains.setdefault(("op", number) if sums is None else ("sums", sums), [])
        if graph.finishes(op):
            chain[-1].append(number)
        else:
            chain.append([number])
    if npus == 1:
        ordered = sorted(turn for chain in chains.values() for turn in chain)
        return tuple(Turn(0, tuple(turn)) for turn in ordered)
    return tuple(_dealt_out(list(chains.values()), npus))


def _dealt_out(chains: Sequence[Sequence[Sequence[int]]], npus: int) -> Iterator[Turn]:
    """Yield the turns of chains, each of which one NPU works through."""
    for first in range(0, len(chains), npus):
        batch = chains[first : first + npus]
        for row in zip_longest(*batch):
            yield from (Turn(npu, tuple(turn)) for npu, turn in enumerate(row) if turn is not None)
