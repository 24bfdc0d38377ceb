"""What becomes of the nodes of each ONNX operator; ``table.py`` names the function of each.

- ``elementwise``: functions of one, two or three elements;
- ``reductions``: along axes: sums, means, extremes, positions, softmax;
- ``normalisation``: layer, instance, group, root mean square and the like;
- ``pooling``: powers, and places of maxima;
- ``products``: what the MAC array computes; ``moves``: what moves, picks or places elements;
- ``quantised``: operators on integers;
- ``chain``: how one node becomes several operators.
"""
