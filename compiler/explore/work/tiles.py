"""The question for the tile schedule of one layer on all NPUs."""

from dataclasses import dataclass

from ....ir.arch import Architecture
from ....ir.workload import Workload
from ....passes.scheduling.flexer.layer import layer_rows
from ....passes.scheduling.flexer.options import FlexerOptions
from ...stores.store import code_version, digest_of
from .outcome import TaskOutcome, TaskStatus

_DECIDING = ("ir", "passes")
_PACKAGES = ("accnn", "numpy", "numba")


@dataclass(frozen=True, slots=True)
class TileQuestion:
    """What a layer costs under a tile scheduler; no energy is known of it.

    Attributes:
        workload: The layer.
        arch: The machine, with all its NPUs.
        scheduler: ``static`` or ``flexer``.
        options: Of Flexer.
    """

    workload: Workload
    arch: Architecture
    scheduler: str
    options: FlexerOptions

    @property
    def key(self) -> str:
        """Digest of everything that the answer depends on."""
        parts = (self.workload, self.arch, self.scheduler, self.options)
        return digest_of("tiles", *map(repr, parts), code_version(_DECIDING, _PACKAGES))

    def outcome(self) -> TaskOutcome:
        """Return cycles and bytes off chip.

        Raises:
            InfeasibleError: Nothing fits.
            OptionError: There is no such scheduler, or the machine has no use for one.
        """
        (row,) = layer_rows("layer", self.workload, self.arch, (self.scheduler,), self.options)
        return TaskOutcome(
            status=TaskStatus.OK,
            cycles=float(row.cycles),
            offchip_bytes=float(row.transferred_bytes),
        )
