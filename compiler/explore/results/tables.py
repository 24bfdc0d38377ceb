"""The tables of a database of results.

Every row has a key that follows from the study, so that a study which was interrupted and resumed
leaves the same rows as one that was not; only ``timings`` depends on the day.
"""

from sqlalchemy import Column, Float, Integer, MetaData, String, Table, Text

META = MetaData()

_DIGEST = String(64)

STUDIES = Table(
    "accnn_studies",
    META,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False),
    Column("digest", _DIGEST, nullable=False),
    Column("text", Text, nullable=False),
)

ARCHITECTURES = Table(
    "accnn_architectures",
    META,
    Column("digest", _DIGEST, primary_key=True),
    Column("text", Text, nullable=False),
)

POINTS = Table(
    "accnn_points",
    META,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("place", Text, nullable=False),
    Column("values", Text, nullable=False),
    Column("arch", _DIGEST, nullable=False),
    Column("mapper", Text, nullable=False),
    Column("area_mm2", Float(53), nullable=False),
    Column("sram", Float(53), nullable=False),
    Column("cause", Text, nullable=False),
)

TASKS = Table(
    "accnn_tasks",
    META,
    Column("key", _DIGEST, primary_key=True),
    Column("label", Text, nullable=False),
)

USES = Table(
    "accnn_uses",
    META,
    Column("point", Integer, primary_key=True, autoincrement=False),
    Column("network", String(255), primary_key=True),
    Column("layer", Integer, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False),
    Column("count", Integer, nullable=False),
    Column("task", _DIGEST, nullable=False),
)

OUTCOMES = Table(
    "accnn_outcomes",
    META,
    Column("key", _DIGEST, primary_key=True),
    Column("status", String(16), nullable=False),
    Column("cycles", Float(53), nullable=False),
    Column("energy_pj", Float(53), nullable=False),
    Column("offchip_bytes", Float(53), nullable=False),
    Column("spills", Integer, nullable=False),
    Column("cause", Text, nullable=False),
)

TIMINGS = Table(
    "accnn_timings",
    META,
    Column("key", _DIGEST, primary_key=True),
    Column("seconds", Float(53), nullable=False),
)

LASTING = (STUDIES, ARCHITECTURES, POINTS, TASKS, USES, OUTCOMES)
"""Tables whose content follows from the study alone."""
