"""The tree of errors that a user of accnn may meet.

::

    AccnnError                  anything that accnn reports; catch this one
    |- InputError               what the user gave cannot be used (exit code 2)
    |  |- ModelError            the ONNX model: missing, truncated, unsupported
    |  |  `- ComputedOperandError  an operand must be constant, and is computed
    |  |- ArchitectureError     the architecture description
    |  |- OptionError           a command-line or library option
    |  `- ParseError            text of a module, pipeline or assembly
    |- VerifyError              a value breaks an invariant of its class
    |- PipelineError            passes that cannot follow each other
    |- PassError                a pass failed on a valid module
    |- InfeasibleError          no schedule exists, with the resource that is short
    |- SimulationError          a program did something that the machine forbids
    |  |- RaceError             two accesses that no wait orders
    |  `- OverflowTrap          an accumulator left its width
    `- MismatchError            outputs differ from the reference (exit code 3)
"""

from dataclasses import dataclass


class AccnnError(Exception):
    """Root of every error that accnn raises on purpose.

    Attributes:
        exit_code: What a command-line tool returns when this error ends it.
    """

    exit_code = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\n  hint: {self.hint}"


class InputError(AccnnError):
    """What the user gave cannot be used."""

    exit_code = 2


class ModelError(InputError):
    """The ONNX model is missing, malformed or uses what accnn does not support."""


class ComputedOperandError(ModelError):
    """An operator needs a constant operand, and it is computed at run time.

    Attributes:
        inputs: The network's inputs that it is computed from.
    """

    def __init__(self, message: str, *, inputs: tuple[str, ...], hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.inputs = inputs


class ArchitectureError(InputError):
    """The architecture description is malformed or describes an impossible machine."""


class OptionError(InputError):
    """An option has a value that is not allowed."""


class ParseError(InputError):
    """Text does not follow its grammar; the message carries ``file:line:column``."""


class VerifyError(AccnnError):
    """A value breaks an invariant of its class."""


class PipelineError(InputError):
    """A pass needs a stage that no earlier pass gives, or does not exist."""


class PassError(AccnnError):
    """A pass failed on a module that was valid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortage:
    """Why something does not fit.

    Attributes:
        resource: What is short, e.g. ``"gb"``.
        demand: What is asked for, in ``unit``.
        capacity: What there is, in ``unit``.
        unit: Unit of both figures.
        terms: What adds up to the demand, as (name, amount) pairs.
    """

    resource: str
    demand: int
    capacity: int
    unit: str = "byte"
    terms: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        parts = " + ".join(f"{name} {amount}" for name, amount in self.terms)
        detail = f" ({parts})" if parts else ""
        return (
            f"{self.resource}: needs {self.demand} {self.unit}{detail}, has {self.capacity}, "
            f"short of {self.demand - self.capacity}"
        )


class InfeasibleError(AccnnError):
    """No schedule exists; ``shortage`` names the resource that is short, where known."""

    exit_code = 2

    def __init__(
        self, message: str, *, shortage: Shortage | None = None, hint: str | None = None
    ) -> None:
        text = message if shortage is None else f"{message}: {shortage}"
        super().__init__(text, hint=hint)
        self.shortage = shortage


class SimulationError(AccnnError):
    """A program did something that the machine forbids."""


class RaceError(SimulationError):
    """Two accesses to one byte, at least one a write, that no wait orders."""


class OverflowTrap(SimulationError):  # noqa: N818 - it is a trap of the machine
    """An accumulator left its width."""


class MismatchError(AccnnError):
    """Simulated outputs differ from the reference."""

    exit_code = 3
