"""Model and simulation of every operator: how far apart, and why."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from accnn.compiler.report.contents.alone import OperatorsAlone
from accnn.compiler.report.contents.differences import Differences
from accnn.ir.report import NOTICEABLE, Cause, Reason
from accnn.runtime_sim.result import OperatorAccount, PortStall
from tests.flow import Compiled, compile_graph
from tests.networks import residual_network
from tests.passes.scheduling.across.joint import both, branches


@pytest.fixture(scope="module")
def tight() -> Compiled:
    """A network whose tensors pass in tiles."""
    return compile_graph(*residual_network(), "edge-1m", budget=9000, all_off_chip=False)


@pytest.fixture(scope="module")
def found(tight: Compiled) -> Differences:
    return Differences(tight.module, tight.run().operators)


def test_every_operator_that_differs_has_a_known_reason(found: Differences):
    names = [item.name for item in found.accounts]

    apart = [name for name in names if abs(found.difference(name) or 0) > NOTICEABLE]
    assert apart
    assert all(found.reasons(name) for name in apart)
    assert Cause.UNKNOWN not in {item.cause for name in apart for item in found.reasons(name)}
    assert not any(found.reasons(name) for name in names if name not in apart)


def test_an_operator_that_runs_as_alone_does_not_differ(tight: Compiled, found: Differences):
    name = found.accounts[0].name
    alone = replace(found.accounts[0], first_cycle=0, last_cycle=found.predicted[name], stalls=())
    quiet = Differences(tight.module, (alone,))

    assert quiet.difference(name) == 0
    assert quiet.reasons(name) == ()


def stretched(found: Differences, by: int, **changes: object) -> tuple[str, OperatorAccount]:
    """Return an account of an operator in the middle that lasts longer than predicted."""
    account = found.accounts[5]
    end = account.first_cycle + found.predicted[account.name] + by
    return account.name, replace(account, last_cycle=end, stalls=(), **changes)


def test_ports_and_neighbours_are_named(tight: Compiled, found: Differences):
    name, account = stretched(found, 1000)
    own = own_stalls(tight, name)["dram.port"]
    stalled = replace(account, stalls=(PortStall("dram.port", own + 700),))
    late = replace(
        found.accounts[6],
        first_cycle=account.last_cycle - 900,
        last_cycle=account.last_cycle + 1,
    )

    (port,) = Differences(tight.module, (stalled,)).reasons(name)
    (overlap,) = Differences(tight.module, (account, late)).reasons(name)

    assert (port.cause, port.port, port.cycles) == (Cause.PORT, "dram.port", 700)
    assert (overlap.cause, overlap.cycles) == (Cause.OVERLAP, 900)


def test_what_leaves_whole_takes_the_bandwidth_of_writes(tight: Compiled, found: Differences):
    arch, plan = tight.module.arch, tight.module.graph_schedule
    assert arch is not None and plan is not None
    (item,) = (*plan.loads, *plan.spills, *plan.retrieves, *plan.stores)
    account = found.account(plan.order[item.step])
    assert account is not None
    end = account.first_cycle + found.predicted[account.name] + 1000
    dram = replace(arch.off_chip, shared_port=False, read_bandwidth=2.0, write_bandwidth=0.5)
    module = replace(tight.module, arch=replace(arch, levels=(dram, *arch.levels[1:])))

    late = replace(account, last_cycle=end, stalls=())
    (reason,) = Differences(module, (late,)).reasons(account.name)

    assert item in plan.stores
    assert reason == Reason(Cause.MOVES, arch.dma.startup + 2 * item.bytes)


def test_what_nothing_explains_is_not_explained(tight: Compiled, found: Differences):
    name, account = stretched(found, 1000)

    (reason,) = Differences(tight.module, (account,)).reasons(name)

    assert reason.cause is Cause.UNKNOWN


def test_what_an_operators_own_tiles_cost_each_other_explains_nothing(
    tight: Compiled, found: Differences
):
    """The model counts it, so another thousand cycles need another reason."""
    name, account = stretched(found, 1000)
    own = own_stalls(tight, name)
    stalls = tuple(PortStall(port, cycles) for port, cycles in own.items())

    (reason,) = Differences(tight.module, (replace(account, stalls=stalls),)).reasons(name)

    assert stalls
    assert reason.cause is Cause.UNKNOWN


def own_stalls(compiled: Compiled, name: str) -> Mapping[str, int]:
    schedule, plan = compiled.module.tile_schedule, compiled.module.graph_schedule
    assert schedule is not None and plan is not None
    return OperatorsAlone(compiled.program, schedule).stalls(plan.step_of[name])


def test_operators_that_cross_are_told_from_operators_alone():
    made = both(branches(), "flexer-arch5", all_off_chip=False)
    result = made.compiled.run()
    found = Differences(made.across, result.operators)

    apart = [item.name for item in result.operators if found.difference(item.name)]
    assert apart
    assert all(found.reasons(name)[0].cause is not Cause.UNKNOWN for name in apart)


def test_without_a_simulation_there_is_only_a_prediction(tight: Compiled):
    silent = Differences(tight.module, ())
    name = tight.module.graph.ops[0].name

    assert silent.predicted[name] > 0
    assert silent.account(name) is silent.difference(name) is None
    assert silent.reasons(name) == ()
