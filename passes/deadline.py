"""When to stop looking for something better."""

import math
import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point in time after which searches take what they have.

    It cuts what may go on for long: plans, groups and loop nests. What comes then is as valid, and
    its status says no more than was proven. Without a deadline no clock decides anything.

    Attributes:
        at: Of the clock that only goes forward [s]; never by default.
    """

    at: float = math.inf

    @classmethod
    def after(cls, seconds: float | None) -> "Deadline":
        """Return the deadline so many seconds from now; ``None`` for never.

        Args:
            seconds: From now [s].
        """
        return cls() if seconds is None else cls(time.monotonic() + seconds)

    @property
    def left(self) -> float:
        """What is left until then, 0 or more [s]."""
        return max(0.0, self.at - time.monotonic()) if self.at < math.inf else math.inf

    @property
    def is_over(self) -> bool:
        """Whether searches have to end."""
        return self.left == 0


NEVER = Deadline()
"""No deadline."""
