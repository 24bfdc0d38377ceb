"""The one door to ONNX: files become models, models become graphs.

- ``loading``: from a file to a model that can be imported;
- ``importer``: from a model to a graph, node by node;
- ``table``: the import function of every ONNX operator; they are in ``operators``;
- ``node``, ``builder``, ``arguments``: what these functions see, build and ask;
- ``bodies``, ``fused``, ``folding``: nodes that are replaced before: by their bodies, by what
  onnxruntime makes of them, by constants;
- ``tensors``: ONNX tensors as arrays.
"""

from .importer import ImportedNetwork, import_model
from .loading.load import load_model

__all__ = ["ImportedNetwork", "import_model", "load_model"]
