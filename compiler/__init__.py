"""The driver: the only part that knows all others.

- ``driver``: the whole way from an ONNX file to a program that is proven by running it, as
  ``options`` ask for (``sizes`` reads those of memories), through the passes that ``pipelines``
  choose; ``given`` writes what is in memory to files, ``frontend`` reads and imports them;
- ``execute``: a compiled model that runs on inputs;
- ``mapping``: mappers' questions, answered by several processes;
- ``stores``: what is kept on disk between compilations;
- ``verification``: the verdict on a run, against onnxruntime;
- ``report``: what was found, built and shown; ``artifacts`` and ``output`` write it all;
- ``explain``: why an operator costs what it costs;
- ``onnx_nodes``: which nodes operators come from;
- ``layers``: single layers, as ``acc-map`` takes them;
- ``explore``: many architectures, compared on a set of networks;
- ``conformance``: ONNX's own tests of operators;
- ``cli``: the commands; ``stopwatch`` tells them how far a compilation is, ``garbage`` how often
  Python looks for garbage.
"""
