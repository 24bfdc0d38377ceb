"""The one door to ONNX: files become models, models become graphs."""

from .importer import ImportedNetwork, import_model
from .load import load_model

__all__ = ["ImportedNetwork", "import_model", "load_model"]
