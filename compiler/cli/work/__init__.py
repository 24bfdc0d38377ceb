"""What the commands do: all that is imported only once their options are read.

- ``compile_network``, ``explore``, ``map_layers``, ``run_passes``, ``run_package``,
  ``write_network``: the work of ``acc-compile``, ``acc-explore``, ``acc-map``, ``acc-opt``,
  ``acc-run`` and ``acc-zoo``;
- ``compile_many``: several networks and machines in one call;
- ``show_cache``, ``compare_results``: that of ``acc-cache`` and ``acc-compare``;
- ``listings``: the architectures and passes that there are, and plug-ins that could not be loaded;
- ``option_values``: shapes, constants and sizes, read from text;
- ``progress``: how far the work is.
"""
