"""When engines are idle, so that work can be put into the gaps."""

from bisect import bisect_right
from dataclasses import dataclass, field

_LATE = 1 << 62


@dataclass(slots=True)
class Engine:
    """Cycles during which an engine works: ``starts[k] .. ends[k]``, ascending, never adjacent."""

    starts: list[int] = field(default_factory=list[int])
    ends: list[int] = field(default_factory=list[int])

    def copy(self) -> "Engine":
        """Return an engine that may go on in another way."""
        return Engine(self.starts.copy(), self.ends.copy())

    def first_gap(self, ready: int, cycles: int) -> int:
        """Return the first cycle from ``ready`` on at which the engine is idle long enough."""
        number = bisect_right(self.starts, ready)
        start = max(ready, self.ends[number - 1]) if number else ready
        while number < len(self.starts) and self.starts[number] < start + cycles:
            start = self.ends[number]
            number += 1
        return start

    def occupy(self, start: int, cycles: int) -> None:
        """Work from an idle cycle on."""
        end = start + cycles
        number = bisect_right(self.starts, start)
        joins_before = number > 0 and self.ends[number - 1] == start
        joins_after = number < len(self.starts) and self.starts[number] == end
        if joins_before and joins_after:
            self.ends[number - 1] = self.ends[number]
            del self.starts[number], self.ends[number]
        elif joins_before:
            self.ends[number - 1] = end
        elif joins_after:
            self.starts[number] = start
        else:
            self.starts.insert(number, start)
            self.ends.insert(number, end)
