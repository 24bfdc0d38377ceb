"""The driver: the only part that knows all others.

- ``driver``: the whole way from an ONNX file to a program that is proven by running it, as
  ``options`` ask for, through the passes that ``pipelines`` choose; ``frontend`` is its first part;
- ``execute``: the same for a model in memory;
- ``mapping``: mappers' questions, answered by several processes;
- ``stores``: what is kept on disk between compilations;
- ``verification``: the verdict on a run, against onnxruntime;
- ``report``: what was found, built and shown; ``artifacts`` and ``output`` write it all;
- ``layers``: single layers, as ``acc-map`` takes them;
- ``conformance``: ONNX's own tests of operators;
- ``cli``: the commands; ``stopwatch`` tells them how far a compilation is.
"""
