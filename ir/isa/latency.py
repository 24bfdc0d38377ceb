"""Start-ups and lane costs of instructions, as schedulers and documentation tell them.

What an event asks of engines and ports follows from ``passes/scheduling/timing/work.py``. The
simulator has a table of its own (``runtime_sim/timing/demands.py``), so that a mistake in one shows
as a difference.
"""

ON_CHIP_STARTUP = 4
"""Cycles before the first byte of a copy that does not touch off-chip memory [cycle]."""


def port_cycles(bytes: int, bandwidth: float | None) -> int:
    """Return what a port takes for some bytes, rounded up; 0 where nothing bounds it [cycle].

    A bandwidth may be a fraction; it is taken as an exact ratio, so that rounding never depends on
    floats.
    """
    if bandwidth is None:
        return 0
    numerator, denominator = float(bandwidth).as_integer_ratio()
    return -(-bytes * denominator // numerator)
