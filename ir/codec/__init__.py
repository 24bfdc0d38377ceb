"""What all written forms are made with.

- ``schema``: the fields of a dataclass, which every form is derived from;
- ``json_codec``: dataclasses as JSON and back; the text form is in ``ir/text``;
- ``column_codec``: the same as compressed columns, for what is long;
- ``names``: identifiers from arbitrary names;
- ``files``: files that are there whole or not at all.
"""
