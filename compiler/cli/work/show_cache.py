"""Show what is kept between compilations, and delete it."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import typer
from rich.console import Console
from rich.table import Table

from ....ir.cache_folder import cache_folder
from ....ir.codec.json_codec import dump_json
from ....ir.errors import OptionError
from ...report.figures import amount, counted
from ...stores.inventory import CacheEntry, EntryKind, cache_entries, cache_limit, delete

_DAY = 24 * 60 * 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class KindOfEntries:
    """The entries of one kind: how many, and their bytes together."""

    kind: str
    entries: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheInfo:
    """What ``acc-cache info`` says.

    Attributes:
        folder: Where the cache lies.
        limit_bytes: What loop nests, results of passes and quantised networks may take together.
        entries: All files.
        bytes: Their size.
        kinds: The same by kind, without those that have no entry.
    """

    folder: str
    limit_bytes: int
    entries: int
    bytes: int
    kinds: tuple[KindOfEntries, ...]


def show_cache(*, as_json: bool) -> None:
    """Print what is in the cache.

    Args:
        as_json: Whether as JSON.

    Raises:
        OptionError: The limit is no number of bytes.
    """
    found = _info(cache_entries())
    if as_json:
        typer.echo(dump_json(found), nl=False)
        return
    typer.echo(f"{found.folder}, at most {amount(found.limit_bytes, 'B')} of answers")
    table = Table("kind", "entries", "size", box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for item in found.kinds:
        table.add_row(item.kind, f"{item.entries:,}", amount(item.bytes, "B"))
    table.add_row("all", f"{found.entries:,}", amount(found.bytes, "B"))
    Console().print(table)


def clear_cache(older_than: float | None) -> None:
    """Delete entries and tell how many.

    Args:
        older_than: Only those that were not used for so long [day]; all if ``None``.

    Raises:
        OptionError: The number of days is negative.
    """
    if (older_than is not None and not older_than >= 0) or older_than == math.inf:
        raise OptionError(f"--older-than {older_than}: not a number of days", hint="e.g. 30")
    newest = math.inf if older_than is None else time.time() - older_than * _DAY
    gone = delete(entry for entry in cache_entries() if entry.used <= newest)
    size = amount(sum(entry.bytes for entry in gone), "B")
    typer.echo(f"{cache_folder()}: {counted(len(gone), 'file')} deleted, {size}")


def _info(entries: Sequence[CacheEntry]) -> CacheInfo:
    kinds = {kind: [entry for entry in entries if entry.kind is kind] for kind in EntryKind}
    return CacheInfo(
        folder=str(cache_folder()),
        limit_bytes=cache_limit(),
        entries=len(entries),
        bytes=sum(entry.bytes for entry in entries),
        kinds=tuple(
            KindOfEntries(kind=kind, entries=len(own), bytes=sum(entry.bytes for entry in own))
            for kind, own in kinds.items()
            if own
        ),
    )
