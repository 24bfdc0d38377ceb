"""What becomes of the nodes of each ONNX operator; ``table.py`` names the function of each.

======================  ==========================================================================
``elementwise``         functions of one, two or three elements
``reductions``          along axes: sums, means, extremes, positions, softmax
``normalisation``       layer, instance, group, root mean square and the like
``products``            Gemm, MatMul, batch normalisation
``convolution``         convolutions and pools       ``resizing``  Resize
``dimensions``          those of one and three       ``transposed``  ConvTranspose, Col2Im
``pooling``             powers, places of maxima     ``sampling``    GridSample
``einsum``              Einsum                       ``transforms``  DFT, STFT
``recurrent``           RNN, GRU, LSTM               ``ordering``    TopK
``layout``              reshapes, transpositions     ``moving``    slices, gathers, borders, repeats
``scattering``          writing to constant places   ``integers``    ConvInteger, MatMulInteger
``qdq``                 quantise, dequantise         ``qoperator``  operators on quantised tensors
``plain_quantisation``  quantisation as arithmetic, where it is no type of a tensor
``chain``               how one node becomes several operators
======================  ==========================================================================
"""
