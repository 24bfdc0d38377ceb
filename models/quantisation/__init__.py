"""From a float model to one of integers, by onnxruntime's static quantiser.

- ``quantize``: the whole of it, as ``options`` say;
- ``indexed``: the model under the quantiser's hands, whose nodes it finds by tensor;
- ``prepare``: the model in the form that quantises well, with ``normalisation`` as convolution and
  ``biases`` as vectors;
- ``ranges``, ``histograms``: ranges of activations: all values, or without the rare ones;
- ``noise``: how far the result is from the float model.
"""
