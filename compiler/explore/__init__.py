"""Architecture exploration: many architectures, compared on a set of networks.

- ``study``: the study as its author writes it;
- ``technology``: area and energy by the size of memories;
- ``work``: the questions of a study, and their answers;
- ``executors``: who answers them: processes here, or an engine's;
- ``search``: which points are looked at;
- ``results``: the database;
- ``findings``: what the results say;
- ``page``: the report;
- ``run``: a whole study.
"""
