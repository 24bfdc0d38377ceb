"""What onnxruntime makes of a network before it runs it."""

from pathlib import Path

import onnx
import onnxruntime as ort

from accnn.models.session import session_options


def executed(model: onnx.ModelProto, folder: Path) -> list[onnx.NodeProto]:
    """Return the nodes that onnxruntime runs after its extended optimisation."""
    options = session_options()
    options.optimized_model_filepath = str(folder / "extended.onnx")
    ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return list(onnx.load(options.optimized_model_filepath).graph.node)
