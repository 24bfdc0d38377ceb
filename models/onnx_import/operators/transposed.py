"""Import of ``ConvTranspose``: a convolution over elements that are set apart by zeros."""

from ..builder import Builder
from ..node import Node
from .chain import Chain

_Pair = tuple[int, int]


def conv_transpose(node: Node, b: Builder) -> None:
    """``ConvTranspose`` in two dimensions."""
    chain, x, w = Chain(node, b), b.value(node.input(0)), b.value(node.input(1))
    if len(chain.shape(w)) != 4:
        raise node.refusal(f"has weights {chain.shape(w)}; supported: one or two dimensions")
    R, S = chain.shape(w)[2:]
    groups, strides = node.int("group", 1), _pair(node, "strides")
    dilations = _pair(node, "dilations")
    reach = ((R - 1) * dilations[0], (S - 1) * dilations[1])
    spare = _pair(node, "output_padding", 0)
    cuts = _pads(node, chain.shape(x)[2:], reach, strides, spare)
    if max(strides) > 1:
        zero = chain.constant([0.0])
        x = chain("stretch", x, zero, repeats=(1, 1, *strides))
    widths: list[int] = []
    for axis in (0, 1):
        before = reach[axis] - cuts[axis]
        after = reach[axis] - cuts[2 + axis] + spare[axis] - (strides[axis] - 1)
        cut = max(0, -before), max(0, -after)
        x = chain.slice(x, 2 + axis, cut[0], chain.shape(x)[2 + axis] - sum(cut))
        widths += [max(0, before), max(0, after)]
    top, bottom, left, right = widths
    operands = (x, _turned(chain, w, groups), *((chain.input(2),) if node.has_input(2) else ()))
    pads = (top, left, bottom, right)
    chain.bind(chain("conv2d", *operands, pads=pads, dilation=dilations, groups=groups))


def _turned(chain: Chain, w: str, groups: int) -> str:
    """Return the weights ``[K, C/groups, R, S]``, taps back to front."""
    C, per_group, R, S = chain.shape(w)
    shape = (groups * per_group, C // groups, R, S)
    if groups == 1:
        w = chain.transpose(w, (1, 0, 2, 3))
    else:
        factors = (groups, C // groups, per_group, R, S)
        w = chain("rearrange", w, factors=factors, perm=(0, 2, 1, 3, 4), shape=shape)
    w = chain.slice(w, 2, R - 1, R, -1) if R > 1 else w
    return chain.slice(w, 3, S - 1, S, -1) if S > 1 else w


def _pads(
    node: Node, extent: tuple[int, ...], reach: _Pair, strides: _Pair, spare: _Pair
) -> tuple[int, ...]:
    """Return what is cut off at the top, left, bottom and right of the whole result."""
    mode, wanted = node.str("auto_pad", "NOTSET"), node.ints("output_shape", ())
    if mode in ("SAME_UPPER", "SAME_LOWER") and not wanted:
        wanted = tuple(size * step for size, step in zip(extent, strides, strict=True))
    if not wanted:
        return node.ints("pads", (0, 0, 0, 0)) if mode == "NOTSET" else (0, 0, 0, 0)
    before, after = list[int](), list[int]()
    for axis in (0, 1):
        whole = (extent[axis] - 1) * strides[axis] + reach[axis] + 1 + spare[axis]
        total = whole - wanted[axis - 2]
        small, large = total // 2, total - total // 2
        first = max(0, small if mode == "SAME_UPPER" else large)
        before.append(first)
        after.append(total - first)
    return (*before, *after)


def _pair(node: Node, name: str, default: int = 1) -> _Pair:
    found = node.ints(name, (default, default))
    if len(found) != 2:
        raise node.refusal(f"has {name} = {found}; supported: two values")
    return found[0], found[1]
