"""One instruction from beginning to retirement."""

from accnn.runtime_sim.functional.execute import begin


def execute(port, instruction):
    begin(port, instruction)
    port.pending.retire()


def store(port, *accumulators):
    """Write accumulators as an instruction does."""
    with port.pending.next_instruction():
        port.store_accumulators(*accumulators)
    port.pending.retire()
