"""Points of a study as rows of a table: one a point and network."""

import json
from collections.abc import Sequence
from typing import Any

from .figures import PointFigures


def rows_of(points: Sequence[PointFigures]) -> list[dict[str, Any]]:
    """Return a row for each point and network, equal columns in each; by point and network.

    A point without figures has one row, without a network and with its cause.
    """
    names = dict.fromkeys(name for item in points for name in json.loads(item.point.values))
    return [row for item in points for row in _rows(item, list(names))]


def _rows(item: PointFigures, names: Sequence[str]) -> list[dict[str, Any]]:
    values = json.loads(item.point.values)
    head = {
        "point": item.point.number,
        **{name: values.get(name) for name in names},
        "mapper": item.point.mapper,
        "area_mm2": item.point.area_mm2,
        "sram_bytes": item.point.sram,
        "cause": item.point.cause,
    }
    nothing = {"network": "", "cycles": None, "energy_pj": None, "edp": None}
    rest = {"offchip_bytes": None, "spills": None}
    return [
        {
            **head,
            "network": network.network,
            "cycles": network.cycles,
            "energy_pj": network.energy_pj,
            "edp": network.cycles * network.energy_pj,
            "offchip_bytes": network.offchip_bytes,
            "spills": network.spills,
        }
        for network in item.networks
    ] or [{**head, **nothing, **rest}]
