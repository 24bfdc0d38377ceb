"""What becomes of the nodes of each ONNX operator; ``table.py`` names the function of each.

=================  =============================================================================
``elementwise``    functions of one, two or three elements
``reductions``     along axes: sums, means, extremes, positions, softmax
``normalisation``  layer, instance, group, root mean square and the like
``products``       Gemm, MatMul, batch normalisation
``convolution``    convolutions and pools       ``resizing``  Resize
``dimensions``     those of one and three       ``transposed``  ConvTranspose
``einsum``         Einsum
``layout``         reshapes, transpositions     ``moving``    slices, gathers, borders, repeats
``qdq``            quantise, dequantise         ``qoperator``  operators on quantised tensors
``chain``          how one node becomes several operators
=================  =============================================================================
"""
