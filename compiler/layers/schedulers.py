"""What ``acc-map --scheduler`` does: single layers under tile schedulers, as text."""

from collections.abc import Sequence
from dataclasses import asdict, fields, replace

from ...ir.arch import Architecture
from ...ir.workload import Workload
from ...passes.scheduling.flexer.layer import LayerRow, layer_rows
from ...passes.scheduling.flexer.options import FlexerOptions
from .read import Layer


def schedule_layers(
    layers: Sequence[Layer],
    arch: Architecture,
    schedulers: Sequence[str],
    options: FlexerOptions | None = None,
) -> tuple[LayerRow, ...]:
    """Return one row per layer and scheduler; equal workloads are searched once.

    Args:
        layers: The layers.
        arch: The accelerator.
        schedulers: Names of the tile schedulers, in the order of the rows.
        options: Of the out-of-order scheduler; its defaults if not given.

    Raises:
        OptionError: A scheduler does not exist, or the machine has no use for one.
    """
    known: dict[Workload, tuple[LayerRow, ...]] = {}
    rows: list[LayerRow] = []
    for layer in layers:
        if layer.workload not in known:
            known[layer.workload] = layer_rows(
                layer.name, layer.workload, arch, schedulers, options
            )
        rows += [replace(row, layer=layer.name) for row in known[layer.workload]]
    return tuple(rows)


def rows_text(rows: Sequence[LayerRow]) -> str:
    """Return the rows as aligned text with a header."""
    names = [item.name for item in fields(LayerRow)]
    cells = [names, *([_cell(value) for value in asdict(row).values()] for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(names))]
    lines = [
        "  ".join(item.ljust(width) for item, width in zip(line, widths, strict=True)).rstrip()
        for line in cells
    ]
    return "\n".join(lines)


def _cell(value: str | float) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)
