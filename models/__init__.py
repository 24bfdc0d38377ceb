"""Networks: importing, quantising, building, and running them for reference.

- ``onnx_import``: from an ONNX file to a graph;
- ``quantisation``: from a float model to one of integers;
- ``data``: what networks are calibrated and run with, the user's or made up;
- ``zoo``: networks built as ONNX models, of sizes in ``published``;
- ``graphs``: networks built as graphs, for schedulers alone;
- ``torch_export``: from a PyTorch module to an ONNX file;
- ``session``, ``sections``: reference runs by onnxruntime, whole or in sections;
- ``byte_products``: products that onnxruntime computes alike on every processor;
- ``apart``: what a library may crash on, done in a child process;
- ``accuracy``: which classes a network gives to examples;
- ``onnx_cases``: the cases of ONNX's own tests.
"""
