"""What an instruction asks of the machine, before anyone else is taken into account."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The time that an instruction needs, and the bytes that it moves through ports.

    Alone it takes ``fill + lead + max(least, bytes / bandwidth of every port) + drain`` cycles,
    the maximum rounded up. The middle part is its *data phase*: only there it loads ports.

    Attributes:
        lead: Start-up before the first byte moves; loads no port [cycle].
        least: What its own engine needs for the data phase [cycle].
        demands: Bytes that it moves through a port, as (port number, bytes) pairs, one per port.
        fill: Of a ``Mac``: from issue until operands stand at the array; hidden behind the
            instruction before it [cycle].
        drain: Of a ``Mac``: from the end of the data phase to retirement; hidden behind the
            instruction after it [cycle].
    """

    lead: int = 0
    least: int = 0
    demands: tuple[tuple[int, int], ...] = ()
    fill: int = 0
    drain: int = 0
