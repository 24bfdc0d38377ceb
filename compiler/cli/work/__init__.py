"""What the commands do: all that is imported only once their options are read.

- ``compile_network``, ``map_layers``, ``run_passes``, ``run_package``, ``write_network``: the work
  of ``acc-compile``, ``acc-map``, ``acc-opt``, ``acc-run`` and ``acc-zoo``;
- ``list_archs``: the catalogue of architectures;
- ``option_values``: shapes, constants and sizes, read from text;
- ``broken``: plug-ins that could not be loaded.
"""
