"""A rule of the cost model: what comes to a memory of the chip is read back once, to be checked."""

from tests.end_to_end.changes.change import Change, Edit


def prove() -> None:
    """Every engine of the compiler, and the simulator, count what is read back."""
    from accnn.backend.load import load_architecture
    from accnn.ir.workload import Operand, Workload
    from accnn.passes.analysis.batches.batch import evaluate_batch
    from accnn.passes.analysis.batches.nest_batch import batch_nests
    from accnn.passes.analysis.cost import evaluate
    from accnn.passes.analysis.tile_cost import tile_cost
    from accnn.passes.analysis.traffic import Direction
    from accnn.passes.mapping.certificate.certify import ProofEffort
    from accnn.passes.mapping.problem import MappingProblem, Objective
    from accnn.passes.mapping.recipes.cosa import Cosa
    from accnn.passes.mapping.recipes.output_stationary import map_output_stationary
    from accnn.passes.mapping.search.orders.allocation import allocate
    from accnn.passes.mapping.search.orders.machine import UnrolledProblem
    from accnn.runtime_sim.array.run import run_on
    from tests.end_to_end.predicted import descriptor_difference
    from tests.flow import compile_graph
    from tests.networks import NetworkBuilder

    arch = load_architecture("simba")
    workload = Workload(R=3, P=4, Q=4, C=8, K=8)
    nest = map_output_stationary(workload, arch).nest
    report = evaluate(nest, arch)
    inner = [item for item in nest.of(Operand.W) if arch.index(item.level) > 0]
    for position, item in enumerate(inner[:-1]):
        passed = report.accesses(item.level, Operand.W, Direction.READ)
        arrived = report.accesses(item.level, Operand.W, Direction.WRITE)
        assert passed is not None and arrived is not None, position
        assert passed.elements > arrived.elements
    assert evaluate_batch(batch_nests([nest]), arch).energy_pj[0] == report.energy_pj

    problem = MappingProblem(workload=workload, arch=arch, objective=Objective.ENERGY)
    unrolled = UnrolledProblem(problem=problem, spatial=nest.spatial)
    allocated, value = allocate(unrolled, nest.temporal)
    assert abs(problem.value(allocated) - value) <= 1e-9 * value

    found = Cosa(effort=ProofEffort(nodes=20)).map(problem)
    assert found.bound is not None
    assert found.bound <= problem.value(found.nest) * (1 + 1e-9)

    net = NetworkBuilder()
    net.conv(net.input("x", (1, 8, 6, 6)), "y", 8, 3)
    compiled = compile_graph(net.build("y"), net.data, "simba")
    schedule = compiled.module.tile_schedule
    assert schedule is not None
    machine = arch.for_npu(arch.npus[0])
    for number in {op.nests[0] for op in schedule.graph.ops if op.nests}:
        inside = schedule.graph.nests[number]
        cost, run = (count(inside, machine, accumulate=True) for count in (tile_cost, run_on))
        assert descriptor_difference(cost, run, machine) == ""


CHANGE = Change(
    row="a rule of the cost model",
    edits=(
        Edit(
            "passes/analysis/flows.py",
            "        yield _at_child(boundary, Direction.WRITE, Kind.MOVE)\n",
            "        yield _at_child(boundary, Direction.WRITE, Kind.MOVE)\n"
            "        yield _at_child(boundary, Direction.READ, Kind.MOVE)\n",
        ),
        Edit(
            "runtime_sim/array/counts.py",
            "        sums.add(leg.child.name, leg.operand, Side.WRITE, each * links, each)\n\n\n"
            "def _count_departures",
            "        for side in (Side.WRITE, Side.READ):\n"
            "            sums.add(leg.child.name, leg.operand, side, each * links, each)\n\n\n"
            "def _count_departures",
        ),
    ),
    proof=prove,
)
