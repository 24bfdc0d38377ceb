"""What every mapping obeys: fan-outs and memories have their sizes; mirrored mappings are one."""

import math

from ....ir.workload import Dim, Operand
from ...mip.linear import Linear, total
from .exponentials import TANGENTS, Exponentials
from .variables import Variables

_TINY = 1e-7


def add_unrolling(v: Variables) -> None:
    """A fan-out has so many children (paper: eq. 4)."""
    arch = v.space.arch
    for fanout in arch.fanouts:
        used = v.unrolled((fanout,))
        v.model.add_at_most(used, math.log(fanout.size) + _TINY)
    for group in arch.groups:
        used = v.unrolled([arch.fanout(name) for name in group.fanouts])
        v.model.add_at_most(used, math.log(group.limit) + _TINY)


def add_capacity(v: Variables, exponentials: Exponentials) -> None:
    """Tiles fit their memories (paper: eq. 2)."""
    for index, level in enumerate(v.space.arch.levels):
        if level.usable is None:
            continue
        usable = math.log(8 * level.usable or 0.5) - _TINY  # less than a bit, if there is none
        shares = [
            _tile_bits(v, operand, index) - usable
            for operand in Operand
            if index in v.space.chains[operand][1:]
        ]
        if len(shares) == 1:
            v.model.add_at_most(shares[0], 0.0)
        elif shares:
            parts = [exponentials.of(share, TANGENTS.shares) for share in shares]
            v.model.add_at_most(total(parts), 1.0)
            for share in shares:
                v.model.add_at_most(share, 0.0)


def keep_resident_sums(v: Variables) -> None:
    """Outputs that lie in the scratchpad are finished: no sums come back to them."""
    chain = v.space.chains[Operand.O]
    if Operand.O in v.space.resident:
        v.model.add_at_most(v.repeats(chain[1]), 0.0)


def _tile_bits(v: Variables, operand: Operand, level: int) -> Linear:
    chain = v.space.chains[operand]
    tile = v.tile(operand, level)
    if operand is not Operand.O:
        return tile + math.log(v.space.workload.bits(operand))
    if level == chain[-1]:
        return tile + math.log(v.psum_bits)
    out = v.space.workload.output_bits
    inner = chain[chain.index(level) + 1]
    wider = math.log(max(v.psum_bits, out) / out)
    return tile + wider * v.spill(inner) + math.log(out)


def add_symmetry(v: Variables) -> None:
    """Rows and columns may be exchanged: keep one of each pair of mirrored mappings."""
    work = v.space.workload
    same = (
        v.space.extents[Dim.P] == v.space.extents[Dim.Q] > 1
        and v.space.extents[Dim.R] == v.space.extents[Dim.S]
        and work.stride[0] == work.stride[1]
        and work.dilation[0] == work.dilation[1]
        and all((Dim.P in item.dims) == (Dim.Q in item.dims) for item in v.space.arch.fanouts)
        and all((Dim.R in item.dims) == (Dim.S in item.dims) for item in v.space.arch.fanouts)
    )
    if same:
        slots = [*v.slots, *(fanout.name for fanout in v.space.arch.fanouts)]
        weighted = [
            (at + 1) * (v.log(slot, (Dim.P,)) - v.log(slot, (Dim.Q,)))
            for at, slot in enumerate(slots)
        ]
        v.model.add_at_least(total(weighted), 0.0)
