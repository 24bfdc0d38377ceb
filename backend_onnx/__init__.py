"""accnn as a backend of ONNX: ``prepare(model)`` compiles, ``.run([x])`` simulates.

::

    import accnn.backend_onnx as backend

    outputs = backend.run_model(model, [x], arch="edge-fp32")
"""

from .backend import AccnnBackend, AccnnRep

prepare = AccnnBackend.prepare
run_model = AccnnBackend.run_model
supports_device = AccnnBackend.supports_device

__all__ = ["AccnnBackend", "AccnnRep", "prepare", "run_model", "supports_device"]
