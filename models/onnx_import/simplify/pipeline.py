"""The rewrites in their order."""

from collections.abc import Mapping

from ....ir.graph import Graph, eliminate_dead
from ....ir.resources import Constants
from .activation import fuse_activations
from .affine import fold_affine
from .constants import dequantize_constants
from .integers import form_integers


def simplify(graph: Graph, constants: Constants) -> tuple[Graph, Constants, Mapping[str, str]]:
    """Return an equivalent smaller graph, its constants, and tensors that became equal to others.

    Integers come first, because fused activations would hide the operators between dequantise and
    quantise; what they leave of quantised constants becomes float constants. Affine folding goes
    before activations, because a product or sum after one cannot move into the weights.
    """
    graph, constants, renamed = form_integers(eliminate_dead(graph), constants)
    graph, constants = dequantize_constants(eliminate_dead(graph), constants)
    graph, constants = fold_affine(eliminate_dead(graph), constants)
    graph = eliminate_dead(fuse_activations(graph))
    return graph, constants.only(graph.constant_names), renamed
