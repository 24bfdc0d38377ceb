"""The command-line tools.

- ``start``: where the commands start;
- ``acc_compile``, ``acc_map``, ``acc_opt``, ``acc_run``, ``acc_zoo``: their options;
- ``work``: what they do, imported once their options are read;
- ``choices``, ``exit_codes``, ``tool``: what they share.
"""
