"""Random ONNX networks, chosen by Hypothesis."""

from hypothesis import strategies as st
from onnx import ModelProto

from .random_onnx import random_network


@st.composite
def onnx_networks(draw: st.DrawFn) -> ModelProto:
    """Return a small float network."""
    return random_network(lambda choices: draw(st.sampled_from(choices)))
