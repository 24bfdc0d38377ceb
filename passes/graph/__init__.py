"""Clean-up of the graph: what is dead, equal, without effect or known at compile time.

- ``eliminate_dead``, ``merge_duplicates``, ``remove_identities``: what nobody needs;
- ``fold_affine``, ``fold_layout``, ``dequantize_constants``: what is known at compile time;
- ``fold_axes``, ``merge_moves``: reshapes and transpositions that nobody needs;
- ``fuse_activations``, ``fuse_tables``: what runs with the operator before, or at once;
- ``decompose_softmax``, ``split_float_products``, ``split_gathers``: what the machine lacks;
- ``split_averages``: what would wait for a whole image;
- ``integers``: quantised networks, computed in integers;
- ``growth``, ``substitute``: what these passes are written with.
"""
