"""Show the catalogue of architectures."""

from rich.console import Console
from rich.table import Table

from ....backend.load import catalogue, plugin_targets
from .broken import tell_broken


def list_archs() -> None:
    """Print name and description of every architecture, and which plug-ins are broken."""
    table = Table("name", "description", box=None, pad_edge=False)
    for entry in catalogue():
        table.add_row(entry.name, entry.description)
    Console().print(table)
    tell_broken(plugin_targets())
