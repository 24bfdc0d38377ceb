"""models/onnx_import."""
