"""Random machines: levels, capacities, bandwidths, fan-outs, NPUs, precisions."""

import random
from collections.abc import Iterator, Mapping

from accnn.ir.arch import (
    Architecture,
    Dma,
    Fanout,
    MemoryLevel,
    Npu,
    Precision,
    VectorUnit,
)
from accnn.ir.workload import Dim, Operand

OWN_NAME = "drawn"
W, I, O = Operand.W, Operand.I, Operand.O  # noqa: E741 - the field's names
REDUCTION = (Dim.C, Dim.R, Dim.S)
INNER = {"ib": (I,), "wb": (W,), "ab": (O,), "xb": (W, I), "rf": (W, I, O)}
"""Memories beneath the scratchpad, and what they may hold."""


def random_architecture(draw: random.Random, precision: Precision) -> Architecture:
    """Return a machine that programs can be written for.

    Args:
        draw: Decides.
        precision: Of the MACs.
    """
    bits = 32 if precision is Precision.FP32 else draw.choice((24, 32))
    element = 4 if precision is Precision.FP32 else 1
    sizes = {W: element, I: element, O: max(element, bits // 8)}
    inner = tuple(_inner(draw, sizes))
    weights = any(W in level.holds for level in inner)
    around = weights and draw.random() < 0.3
    held = (I, O) if around else (W, I, O)
    scratchpad = _level(draw, "gb", held, 1 << draw.randrange(10, 19))
    levels = (_off_chip(draw), scratchpad, *inner)
    fanouts = tuple(_fanouts(draw, [level.name for level in levels[1:]]))
    arch = Architecture(
        name=OWN_NAME,
        levels=levels,
        scratchpad="gb",
        fanouts=fanouts,
        npus=_npus(draw, fanouts),
        precision=precision,
        accumulator_bits=bits,
        mac_energy=draw.choice((0.0, 0.3)),
        vector=VectorUnit(lanes=draw.choice((1, 3, 16)), startup=draw.randrange(9)),
        dma=Dma(channels=draw.choice((1, 2, 3)), startup=draw.choice((0, 16))),
    )
    arch.verify()
    return arch


def _off_chip(draw: random.Random) -> MemoryLevel:
    return MemoryLevel(
        name="dram",
        holds=(W, I, O),
        capacity=None,
        read_bandwidth=draw.choice((0.5, 2.0, 16.0)),
        write_bandwidth=draw.choice((1.0, 16.0)),
        shared_port=False,
        word_bits=draw.choice((8, 64)),
        read_energy=draw.choice((0.0, 100.0)),
        write_energy=draw.choice((0.0, 80.0)),
    )


def _inner(draw: random.Random, sizes: Mapping[Operand, int]) -> Iterator[MemoryLevel]:
    """Yield some of the memories beneath the scratchpad, in any order, down to one element.

    Args:
        draw: Decides.
        sizes: Bytes of one element of each operand.
    """
    names = [name for name in INNER if draw.random() < 0.4]
    draw.shuffle(names)
    for name in names:
        one = sum(sizes[operand] for operand in INNER[name])
        yield _level(draw, name, INNER[name], 2 * one * draw.choice((1, 2, 7, 30, 200, 2000)))


def _level(
    draw: random.Random, name: str, holds: tuple[Operand, ...], capacity: int
) -> MemoryLevel:
    shared = draw.random() < 0.2
    return MemoryLevel(
        name=name,
        holds=holds,
        capacity=capacity,
        double_buffered=draw.random() < 0.4,
        read_bandwidth=draw.choice((1.5, 8.0, 32.0)) if shared else draw.choice((None, 1.5, 32.0)),
        write_bandwidth=None if shared else draw.choice((None, 2.0, 32.0)),
        shared_port=shared,
        word_bits=draw.choice((8, 24, 64)),
        read_energy=draw.choice((0.0, 1.3)),
        write_energy=draw.choice((0.0, 0.7)),
    )


def _fanouts(draw: random.Random, levels: list[str]) -> Iterator[Fanout]:
    below = sorted(draw.randrange(len(levels)) for _ in range(draw.randrange(4)))
    for number, place in enumerate(below):
        reduction = draw.random() < 0.7
        yield Fanout(
            name=f"f{number}",
            below=levels[place],
            size=draw.choice((2, 3, 4, 7, 16)),
            dims=tuple(dim for dim in Dim if reduction or dim not in REDUCTION),
            multicast=draw.choice(((W, I), (W,), (I,), ())),
            reduction=reduction,
            link_bandwidth=draw.choice((None, 2.0, 8.0)),
            hop_energy=draw.choice((0.0, 0.3)),
        )


def _npus(draw: random.Random, fanouts: tuple[Fanout, ...]) -> tuple[Npu, ...]:
    """Return one NPU or a few; sometimes the last one is smaller."""
    count = draw.choice((1, 1, 1, 2, 3))
    npus = [Npu(name=f"npu{number}") for number in range(count)]
    if count > 1 and fanouts and draw.random() < 0.3:
        first = fanouts[0]
        npus[-1] = Npu(name=npus[-1].name, sizes=((first.name, max(1, first.size // 2)),))
    return tuple(npus)
