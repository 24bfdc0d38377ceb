"""What a study found, in a database.

- ``tables``: its tables;
- ``database``: what is written and read; the door to SQLAlchemy;
- ``records``: the rows as values;
- ``export``: rows as Parquet.
"""
