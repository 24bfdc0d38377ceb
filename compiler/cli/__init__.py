"""The command-line tools.

- ``start``: where the commands start;
- ``acc_cache``, ``acc_compare``, ``acc_compile``, ``acc_explore``, ``acc_map``, ``acc_opt``,
  ``acc_run``, ``acc_zoo``: their options;
- ``run_file``: options as TOML;
- ``work``: what they do, imported once their options are read;
- ``choices``, ``exit_codes``, ``tool``, ``verbosity``, ``version``: what they share.
"""
