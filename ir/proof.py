"""What is proven of a figure: a lower bound, and of which solutions it is one.

A bound stands beside a value of the same function, never beside an estimate of another one, and
holds for the solutions of its *scope*. A value may lie below a bound whose scope it is not in: then
it beats everything in it.
"""

from enum import StrEnum

from .errors import VerifyError


class Scope(StrEnum):
    """The solutions that a bound holds for.

    Of loop nests: ``EVEN_NESTS`` are those whose operands start their tiles of a level at the same
    loop, with the extents (padded or not) that the mapper tried; ``ALL_NESTS`` are all.

    Of plans of the scratchpad: ``WHOLE_TENSORS`` are those that keep every tensor of an operator
    whole while it runs; ``TRAFFIC_MODEL`` are those of all ways to stream tensors that were
    offered, at the bytes that a model of the traffic tells; ``ALL_PLANS`` are all, at the bytes
    that are really moved.

    Of tile schedules: ``GIVEN_EVENTS`` are all orders of the events of this one;
    ``ALL_SCHEDULES`` are all, however the operator is cut into tiles.
    """

    EVEN_NESTS = "even nests, these extents"
    ALL_NESTS = "all nests"
    WHOLE_TENSORS = "plans of whole tensors"
    TRAFFIC_MODEL = "plans in the traffic model"
    ALL_PLANS = "all plans"
    GIVEN_EVENTS = "orders of these events"
    ALL_SCHEDULES = "all tile schedules"

    @property
    def is_everything(self) -> bool:
        """Whether no valid value lies below a bound of this scope."""
        return self is not Scope.EVEN_NESTS


def gap_of(value: float, bound: float | None) -> float | None:
    """Return how far a value lies above a bound, as a share of the bound.

    Returns:
        ``value / bound - 1``: 0 is proven optimal in the bound's scope, less than 0 is better than
        all of a scope that the value is not in. ``None`` where nothing, or nothing but that the
        value is not negative, is proven.
    """
    return None if bound is None or bound <= 0 else value / bound - 1.0


def verify_proof(
    what: str, value: float | None, bound: float | None, scope: Scope | None, *, is_optimal: bool
) -> None:
    """Check that a claim has its proof.

    Args:
        what: What the claim is about, for the message.
        value: The value that was reached; ``None`` where it is not known.
        bound: Its proven lower bound.
        scope: The solutions that the bound holds for.
        is_optimal: Whether the value is said to be optimal.

    Raises:
        VerifyError: A bound has no scope, a scope no bound, an optimum no bound, or a bound of
            everything lies above the value.
    """
    if (bound is None) != (scope is None):
        raise VerifyError(f"{what}: a bound and its scope belong together")
    if is_optimal and bound is None:
        raise VerifyError(f"{what}: optimal without a bound")
    if value is None or bound is None or scope is None:
        return
    if scope.is_everything and bound > value * _ROUNDING:
        raise VerifyError(f"{what}: the bound {bound} of {scope} lies above {value}")


_ROUNDING = 1.0 + 1e-9
