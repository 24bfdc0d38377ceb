"""What a user may choose for one compilation."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from pathlib import Path

from ..ir.errors import OptionError
from ..models.onnx_import.loading.constants import ConstantValue, flat
from ..models.quantisation.options import PERCENTILE, QuantizeOptions
from ..models.quantisation.ranges import CalibrationMethod
from ..passes.mapping.problem import Objective
from ..passes.scheduling.fusion import Fuse
from ..runtime_sim.timing.events import TimingModel
from .mapping.solve import cores
from .sizes import parse_budget
from .stores.store import default_folder

LOWER = "lower"
"""The last step of a compilation, after all passes."""


_IDLE = frozenset({"cache", "processes"})
"""Options that change seconds only."""

_PATHS = ("calibration", "accuracy", "inputs", "cache")
"""Options that name files and folders; text is a path, too."""

_CHOICES = ("mapper", "objective", "scheduler", "fuse", "tiles", "scratchpad")
"""Options that choose passes and their options."""


class VerifyMode(StrEnum):
    """How much of a program's result is compared with the reference."""

    OUTPUTS = "outputs"
    LAYERS = "layers"
    OFF = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileOptions:
    """Options of ``acc-compile`` and :func:`accnn.compile`.

    Attributes:
        mapper: Finds loop nests; see ``passes/mapping/registry.py``.
        objective: What loop nests and groups of operators are chosen for.
        scheduler: Plans the scratchpad: ``cosma`` (or another that is registered).
        fuse: Which operators COSMA may let run together, their tensors kept on chip between them.
        tiles: Orders tiles on the NPUs: ``static-across`` (or another that is registered).
        scratchpad: Scratchpad bytes to use instead of the architecture's, as a number or as text
            (``64K``), or the name of a size that follows from the graph: ``mr``, ``mh``, ``mp``.
        seed: Of made-up calibration data and verification inputs.
        calibration: Data set for quantising a float model on an integer architecture.
        samples: Number of made-up calibration samples.
        calibration_method: How ranges of activations follow from calibration data.
        percentile: Values inside of a range, for the method ``percentile`` [percent].
        accuracy: Data set of examples, with labels or without, to measure accuracy on.
        shapes: Shapes of dynamic inputs, and extents of dynamic axes, by name.
        constants: Values of inputs that are compiled in as constants, by name.
        verify: What is compared with onnxruntime.
        races: Whether the simulator looks for unordered accesses while verifying.
        timing: How long transfers take in the simulated run: as bandwidths say, or over the mesh
            and the memory behind it. What is scheduled does not depend on it.
        inputs: ``.npz`` with the inputs to verify on; made-up ones otherwise.
        pipeline: Text of the passes to run instead of those that the options above choose (mapper,
            objective, scheduler, fuse, tiles and scratchpad).
        settings: Options of passes, as ``PASS.OPTION=VALUE``.
        until: Name of the last pass to run.
        max_seconds: When passes end their searches, from the beginning on [s]: plans, nests and
            tiles are what was found by then, and the report says so. What comes out depends on how
            fast the computer is; ``None``, by default, lets no clock decide.
        cache: Folder of loop nests found earlier; ``None`` maps everything anew.
        processes: Processes that look for loop nests and measure groups; no figure but seconds
            depends on it.
    """

    mapper: str = "cosa"
    objective: Objective = Objective.LATENCY
    scheduler: str = "cosma"
    fuse: Fuse = Fuse.GROUPS
    tiles: str = "static-across"
    scratchpad: int | str | None = None
    seed: int = 0
    calibration: Path | None = None
    samples: int = 4
    calibration_method: CalibrationMethod = CalibrationMethod.MINMAX
    percentile: float = PERCENTILE
    accuracy: Path | None = None
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    constants: Mapping[str, ConstantValue] = field(default_factory=dict[str, ConstantValue])
    verify: VerifyMode = VerifyMode.OUTPUTS
    races: bool = True
    timing: TimingModel = TimingModel.ANALYTICAL
    inputs: Path | None = None
    pipeline: str | None = None
    settings: tuple[str, ...] = ()
    until: str | None = None
    max_seconds: float | None = None
    cache: Path | None = field(default_factory=default_folder)
    processes: int = field(default_factory=cores)

    def __post_init__(self) -> None:
        for name, kind in _KINDS.items():
            object.__setattr__(self, name, _one_of(kind, name, getattr(self, name)))
        for name, (kind, meaning) in _TYPES.items():
            if not _is_a(kind, given := getattr(self, name)):
                raise OptionError(f"{name} is {given!r}, must be {meaning}")
        for name in _PATHS:
            given = getattr(self, name)
            object.__setattr__(self, name, None if given is None else Path(given))
        if isinstance(self.scratchpad, str):
            object.__setattr__(self, "scratchpad", parse_budget(self.scratchpad, "scratchpad"))
        if self.seed < 0:
            raise OptionError(f"seed is {self.seed}, must be 0 or more")
        if self.processes < 1:
            raise OptionError(f"processes is {self.processes}, must be 1 or more")
        if self.max_seconds is not None and not 0 <= self.max_seconds < math.inf:
            raise OptionError(f"max_seconds is {self.max_seconds}, must be 0 or more")
        if self.samples < 1:
            raise OptionError(f"samples is {self.samples}, must be 1 or more")
        if isinstance(self.scratchpad, int) and self.scratchpad < 1:
            raise OptionError(f"scratchpad is {self.scratchpad} bytes, must be 1 or more")
        QuantizeOptions(method=self.calibration_method, percentile=self.percentile)  # checks them
        if self.pipeline is not None:
            self._check_choices()

    def _check_choices(self) -> None:
        """Refuse options that choose passes where a pipeline already names them."""
        defaults = {item.name: item.default for item in fields(self)}
        chosen = [name for name in _CHOICES if getattr(self, name) != defaults[name]]
        if chosen:
            raise OptionError(
                f"a pipeline is given: {', '.join(chosen)} would choose nothing",
                hint="give it as an option of a pass, in the pipeline or as PASS.OPTION=VALUE",
            )

    @property
    def quantising(self) -> QuantizeOptions:
        """How a float network is quantised."""
        return QuantizeOptions(method=self.calibration_method, percentile=self.percentile)

    @property
    def lowers(self) -> bool:
        """Whether the compilation goes as far as a program."""
        return self.until in (None, LOWER)

    def flat(self) -> Mapping[str, bool | int | float | str | None]:
        """Return the options that decide something as plain values, for the report."""
        idle = _IDLE if self.pipeline is None else {*_IDLE, *_CHOICES}
        names = [item.name for item in fields(self) if item.name not in idle]
        values = {name: getattr(self, name) for name in names}
        values["constants"] = {name: flat(given) for name, given in self.constants.items()}
        return {name: _plain(value) for name, value in values.items()}


_KINDS: Mapping[str, type[StrEnum]] = {
    "objective": Objective,
    "fuse": Fuse,
    "verify": VerifyMode,
    "timing": TimingModel,
    "calibration_method": CalibrationMethod,
}
"""Options that take one of several words."""


_TEXT, _COUNT = (str, "text"), (int, "a whole number")
_TYPES: Mapping[str, tuple[type, str]] = {
    "mapper": _TEXT,
    "scheduler": _TEXT,
    "tiles": _TEXT,
    "seed": _COUNT,
    "samples": _COUNT,
    "processes": _COUNT,
    "races": (bool, "True or False"),
    "settings": (tuple, "a tuple of texts like schedule-cosma.rounds=0"),
    "shapes": (Mapping, "a mapping of names to extents"),
    "constants": (Mapping, "a mapping of names to values"),
}
"""What options are, where a word does not say so."""


def _is_a(kind: type, value: object) -> bool:
    """Return whether a value is of a type; truth values are no numbers."""
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def _one_of(kind: type[StrEnum], name: str, value: str) -> StrEnum:
    """Return the value that a word stands for.

    Args:
        kind: All values.
        name: Of the option.
        value: A value, or the word for it.

    Raises:
        OptionError: There is no such word.
    """
    try:
        return kind(value)
    except ValueError:
        words = ", ".join(repr(item.value) for item in kind)
        raise OptionError(f"{name} is {value!r}", hint=f"it is one of {words}") from None


def _plain(value: object) -> bool | int | float | str | None:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Path):
        return value.name
    if isinstance(value, Mapping):
        return ",".join(f"{name}={shape}" for name, shape in value.items())  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, tuple):
        return " ".join(map(str, value))  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return str(value)
