"""Points of a study as rows of Parquet."""

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ....ir.codec.files import replacing
from ....ir.errors import OptionError

Row = Mapping[str, Any]


def write_parquet(path: Path, rows: Sequence[Row]) -> None:
    """Write rows of equal columns as Parquet, whole or not at all.

    Raises:
        OptionError: pyarrow is not installed, or the file cannot be written.
    """
    try:
        arrow = importlib.import_module("pyarrow")
        parquet = importlib.import_module("pyarrow.parquet")
    except ModuleNotFoundError as error:
        raise OptionError(
            "Parquet needs pyarrow, which is not installed", hint="pip install pyarrow"
        ) from error
    with replacing(path) as partial:
        parquet.write_table(arrow.Table.from_pylist([dict(row) for row in rows]), partial)
