"""One sentence on what an operator's time is spent on, and how far it is from its bound."""

from ...ir.report import OperatorReport
from .binding import Binding, BusyShare
from .figures import cycles_text

BINDS = {
    Binding.COMPUTE: "Most of the time the MAC array works.",
    Binding.DMA: "Most of the time data moves between off-chip memory and the chip.",
    Binding.VECTOR: "Most of the time the vector unit works.",
    Binding.MOVES: "Most of the time data moves on the chip.",
    Binding.WAITING: "No engine works for half of the time: they wait for each other.",
    Binding.UNKNOWN: "It takes no time.",
}
"""What each binding means."""


def bottleneck(item: OperatorReport, why: Binding, shares: tuple[BusyShare, ...]) -> str:
    """Return what holds an operator up; nothing where no engine's times are known.

    Args:
        item: Its figures.
        why: What it is bound by.
        shares: How busy the engines are while it runs.
    """
    if not shares:
        return ""
    sentence = BINDS[why]
    cycles, bound = item.cycles, item.cycles_lower_bound
    if not cycles or not bound:
        return sentence
    macs = (item.utilization or 0.0) * cycles  # on the whole array
    which = "MACs" if macs > bound - 1 else "bytes off chip"
    return (
        f"{sentence} It takes {cycles / bound:.2f} times the {cycles_text(bound)} cycles "
        f"that its {which} take at least."
    )
