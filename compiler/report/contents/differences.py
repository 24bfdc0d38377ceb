"""How far model and simulation of an operator are apart, and why.

The model sees an operator alone. In the run of the whole network others use its ports, its loads
run ahead while the operator before still works, and it has the moves of whole tensors, too. Where
an operator's own tiles share a port, the model knows that already: it is no reason.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ....ir.isa.latency import port_cycles
from ....ir.mesh_report import MeshReport
from ....ir.module import Module
from ....ir.report import NOTICEABLE, Cause, Reason
from ....passes.analysis.traffic import Direction, level_bandwidth
from ....passes.base import require_arch
from ....runtime_sim.result import OperatorAccount
from .alone import OperatorsAlone


@dataclass(frozen=True)
class Differences:
    """What model and simulator say of every operator.

    Attributes:
        module: What was compiled.
        accounts: Of the operators in execution order; empty where the simulator did not run.
        mesh: What the mesh was used for, where the run was timed over one.
    """

    module: Module
    accounts: Sequence[OperatorAccount]
    mesh: MeshReport | None = None

    @cached_property
    def predicted(self) -> Mapping[str, int]:
        """From the first event that works to the last end, alone, by operator [cycle]."""
        schedule = self.module.tile_schedule
        alone = () if schedule is None else schedule.alone
        return {item.operator: item.cycles - item.begin for item in alone}

    @cached_property
    def _position(self) -> Mapping[str, int]:
        return {item.name: number for number, item in enumerate(self.accounts)}

    def account(self, name: str) -> OperatorAccount | None:
        """Return what the simulator counted for an operator."""
        number = self._position.get(name)
        return None if number is None else self.accounts[number]

    def difference(self, name: str) -> float | None:
        """Return how much longer an operator takes in the run than alone, as a share of that."""
        account, alone = self.account(name), self.predicted.get(name)
        return None if account is None or not alone else account.cycles / alone - 1

    def reasons(self, name: str) -> tuple[Reason, ...]:
        """Return why the two differ, where they do noticeably; what costs most comes first."""
        account, difference = self.account(name), self.difference(name)
        if account is None or difference is None or abs(difference) <= NOTICEABLE:
            return ()
        own = self._own_stalls(name)
        found = [
            Reason(Cause.PORT, item.cycles - own.get(item.port, 0), item.port)
            for item in account.stalls
        ]
        found.append(Reason(Cause.OVERLAP, self._overlap(account)))
        found.append(Reason(Cause.MOVES, self._moves(name)))
        found.append(Reason(Cause.NETWORK, self._slowed.get(name, 0)))
        found = [item for item in found if item.cycles > 0]
        found.sort(key=lambda item: -item.cycles)
        return tuple(found) or (Reason(Cause.UNKNOWN, 0),)

    def _own_stalls(self, name: str) -> Mapping[str, int]:
        """Return by port what the operator stalls by itself; the model counts it [cycle]."""
        plan = self.module.graph_schedule
        if self._alone is None or plan is None:
            return {}
        return self._alone.stalls(plan.step_of[name])

    @cached_property
    def _alone(self) -> OperatorsAlone | None:
        program, schedule = self.module.program, self.module.tile_schedule
        return None if program is None or schedule is None else OperatorsAlone(program, schedule)

    @cached_property
    def _slowed(self) -> Mapping[str, int]:
        """How much longer operators take over the mesh than by bandwidths alone [cycle]."""
        operators = () if self.mesh is None else self.mesh.operators
        return {item.name: item.cycles - item.analytical_cycles for item in operators}

    def _overlap(self, account: OperatorAccount) -> int:
        """Return for how long operators before or after work, too [cycle]."""
        number = self._position[account.name]
        before = [item.last_cycle for item in self.accounts[:number] if item.instructions]
        after = [item.first_cycle for item in self.accounts[number + 1 :] if item.instructions]
        early = max(before, default=account.first_cycle) - account.first_cycle
        late = account.last_cycle - min(after, default=account.last_cycle)
        return min(account.cycles, max(0, early) + max(0, late))

    def _moves(self, name: str) -> int:
        """Return what moving whole tensors at the operator's step takes, by itself [cycle]."""
        plan = self.module.graph_schedule
        if plan is None:
            return 0
        arch, step = require_arch(self.module), plan.step_of[name]
        ways = {
            Direction.READ: (*plan.loads, *plan.retrieves),
            Direction.WRITE: (*plan.spills, *plan.stores),
        }
        return sum(
            arch.dma.startup + port_cycles(item.bytes, level_bandwidth(arch.off_chip, way))
            for way, moves in ways.items()
            for item in moves
            if item.step == step
        )
