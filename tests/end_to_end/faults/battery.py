"""The judges, each on something small: random descriptors, tiny networks, forgeries.

An exam raises an ``AssertionError`` where two sides differ; the exams of verifiers may raise what
verifiers raise. Everything is the same in every run.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from itertools import chain, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from onnx import ModelProto

from accnn.backend.lowering.lower import lower
from accnn.compiler.verification.observe import observed
from accnn.compiler.verification.translation import check_translation
from accnn.ir.arch import Architecture
from accnn.ir.errors import SimulationError, VerifyError
from accnn.ir.graph_schedule import Group
from accnn.ir.isa.instructions import Space, Unit
from accnn.ir.isa.program import Program, SymbolKind
from accnn.ir.isa.spaces import accumulator_level
from accnn.ir.mapping import LoopNest
from accnn.ir.module import Module
from accnn.ir.resources import Constants
from accnn.ir.tiles.events import EventKind
from accnn.ir.tiles.places import verify_places
from accnn.models.session import save_model
from accnn.passes.analysis.tile_cost import tile_cost
from accnn.passes.base import Context
from accnn.passes.scheduling.check import check_schedule
from accnn.passes.scheduling.map_operators import MapOperators
from accnn.passes.scheduling.schedule_in_order import ScheduleInOrder
from accnn.passes.scheduling.static.schedule_tiles import ScheduleTiles
from accnn.passes.scheduling.timing.spread import link_loads
from accnn.passes.tiling.inner_nest import managed_bytes
from accnn.runtime_sim.array.run import run_on
from accnn.runtime_sim.array.spread import spread_on
from accnn.runtime_sim.reference.run import run as run_reference
from accnn.runtime_sim.result import SimulationResult
from accnn.runtime_sim.simulate import simulate
from accnn.runtime_sim.timing.events import time_of
from accnn.runtime_sim.timing.ports import ports_of
from benchmarks.fusion_block import block
from tests.block_strategies import block_lists
from tests.compiler.sections import judged_in_sections
from tests.end_to_end.faults import attacks, forgeries, mesh
from tests.end_to_end.faults.fault import Exam, Judge
from tests.end_to_end.faults.hazards import Stream, blocks, contents
from tests.end_to_end.faults.networks import (
    CASES,
    Case,
    halfway_biases,
    joined,
    scheduled,
)
from tests.end_to_end.predicted import Account, counted, descriptor_difference, difference
from tests.inputs import Array, random_inputs
from tests.models.onnx_import.conftest import Sketch, compare
from tests.models.onnx_import.test_integers import any_bytes, convolution, qdq_model
from tests.nest_strategies import architectures, inner_nests, nests
from tests.passes.analysis.test_bounds_attacked import assert_no_bound_is_beaten, mapped
from tests.passes.analysis.test_mesh_load import MACHINES, check_links
from tests.passes.scheduling.cosma.oracle import forks, problems
from tests.passes.scheduling.timing.operators import alone, predicted, simulated
from tests.passes.scheduling.timing.queues import Share, run_queues
from tests.passes.scheduling.timing.test_clock import (
    PARTS,
    PORTS,
    every_cycle,
    exact_speeds,
    runs,
    speeds_of,
)
from tests.passes.tiling.groups.fused import (
    attention,
    bottleneck,
    branches,
    compile_fused,
    fire,
    in_small_tiles,
    inverted,
    lowered_with,
    perceptron,
    pooled,
    rolling,
    shares,
    shortcut,
    windows,
)
from tests.runtime_sim.array.test_against_execution import check as check_execution
from tests.runtime_sim.functional import test_mac as mac_tests
from tests.runtime_sim.noc.nests import machine
from tests.runtime_sim.step_by_step import executed
from tests.runtime_sim.test_execution import check as check_whole
from tests.runtime_sim.timing.test_events import programs
from tests.tiles import by_themselves, tiles_of


def objection(exam: str) -> str | None:
    """Return what an exam objects to, ``None`` if nothing.

    Raises:
        Exception: Something broke that is no objection of this exam's judge.
    """
    wanted = Exam(exam)
    try:
        EXAMS[wanted]()
    except (AssertionError, pytest.fail.Exception) as error:
        return str(error) or repr(error)
    except (VerifyError, SimulationError) as error:
        if wanted.judge not in (Judge.VERIFIER, Judge.FORGERY):
            raise
        return str(error)
    return None


def _none(difference: str) -> None:
    assert not difference, difference


def _drawn(check: Callable[..., object], count: int, *drawn: st.SearchStrategy[Any]) -> None:
    """Run a check on the first examples of a seed; a failure is told as it is found."""

    @seed(1)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    @given(st.tuples(*drawn))
    def every(example: tuple[Any, ...]) -> None:
        check(*example)

    every()


# -- descriptors ----------------------------------------------------------------------------------

_ON_MACHINES = architectures().flatmap(
    lambda arch: st.tuples(st.just(arch), inner_nests(arch, limit=300), st.booleans())
)


def _nests() -> None:
    def check(case: tuple[Architecture, LoopNest, bool]) -> None:
        arch, nest, accumulate = case
        cost = tile_cost(nest, arch, accumulate=accumulate)
        run = run_on(nest, arch, accumulate=accumulate)
        _none(descriptor_difference(cost, run, arch))

    _drawn(check, 150, _ON_MACHINES)


def _array() -> None:
    def check(case: tuple[Architecture, LoopNest, bool]) -> None:
        arch, nest, accumulate = case
        check_execution(nest, arch, accumulate=accumulate)

    _drawn(check, 60, _ON_MACHINES)


def _whole_nests() -> None:
    def check(case: tuple[Architecture, LoopNest]) -> None:
        check_whole(case[1], case[0])

    _drawn(check, 60, architectures().flatmap(_with_nest))


def _with_nest(arch: Architecture) -> st.SearchStrategy[tuple[Architecture, LoopNest]]:
    return st.tuples(st.just(arch), nests(arch, limit=300))


def _descriptors() -> None:
    for case in CASES:
        module = scheduled(case)
        machine = case.machine.for_npu(case.machine.npus[0])
        for schedule in by_themselves(module):
            found = {
                (schedule.graph.ops[event.subject].nests[0], event.clear)
                for event in schedule.events
                if event.kind is EventKind.COMPUTE and event.unit is Unit.MX
            }
            managed: Counter[str] = Counter()
            for number, clear in sorted(found):
                nest = schedule.graph.nests[number]
                cost = tile_cost(nest, machine, accumulate=not clear)
                run = run_on(nest, machine, accumulate=not clear)
                _none(descriptor_difference(cost, run, machine))
                managed |= Counter(run.managed)
            if any(tile.space is Space.AB for tile in schedule.graph.tiles):
                nest = module.mapping(schedule.graph.operators[0]).nest
                level = accumulator_level(machine)
                instances = machine.instances(level)
                assert managed_bytes(nest, machine, level) == instances * managed[level]


def _layouts() -> None:
    for case in CASES:
        machine = case.machine.for_npu(case.machine.npus[0])
        for schedule in by_themselves(scheduled(case)):
            for tile in schedule.graph.tiles:
                if tile.layout is None:
                    continue
                layout = schedule.graph.nests[tile.layout]
                instances = machine.instances(layout.allocations[0].level)
                spread = spread_on(layout, machine, tile.element_bytes, instances)
                part, links = link_loads(layout, machine, tile.element_bytes)
                assert tile.footprint == spread.footprint
                assert part == spread.part
                assert links == tuple((link.fanout, link.busiest) for link in spread.links)


def _fused() -> None:
    for make in (bottleneck, inverted, fire, pooled, perceptron, shares, attention):
        graph, data = make()
        for arch in ("simba", "flexer-arch5"):
            group = Group(members=tuple(op.name for op in graph.ops), rows=2)
            compiled = compile_fused(graph, data, arch, (group,))
            assert compiled.wrong(compiled.run(detect_races=True)) == []
    for make, budget in product((shortcut, branches), (None, 3000)):
        graph, data = make()
        members = ("c", "sum", "a", "down") if make is branches else ("c", "sum", "a")
        for arch in ("simba", "flexer-arch1"):
            group = Group(members=members, rows=1)
            compiled = compile_fused(graph, data, arch, (group,), budget)
            assert compiled.wrong(compiled.run(detect_races=True)) == []
    turns = product((bottleneck, windows), ("simba", "flexer-arch5"), ((), (1,)))
    for make, arch, behind in turns:
        module = rolling(make, arch, behind=behind)
        tiles_of(module).verify()
        compiled = lowered_with(module)
        assert compiled.wrong(compiled.run(detect_races=True)) == []
    compiled = lowered_with(in_small_tiles())
    assert compiled.wrong(compiled.run(detect_races=True)) == []


# -- time -----------------------------------------------------------------------------------------


_SHARES = st.sets(st.integers(0, PORTS - 1)).flatmap(
    lambda ports: st.tuples(*(st.builds(Share, st.just(port), PARTS) for port in sorted(ports)))
)


def _same_speeds(active: list[tuple[Share, ...]]) -> None:
    assert speeds_of(active) == pytest.approx([*map(float, exact_speeds(active))])


def _clock() -> None:
    def check(run: tuple[Any, Any]) -> None:
        assert run_queues(*run, PORTS) == every_cycle(*run)

    _drawn(check, 120, runs())
    _drawn(_same_speeds, 400, st.lists(_SHARES, min_size=1, max_size=5))


def _timing() -> None:
    def check(case: tuple[Program, Any]) -> None:
        built, work = case
        bandwidths = [port.bandwidth for port in ports_of(built.arch).ports]
        oracle = executed(built, work, bandwidths)
        try:
            timing = time_of(built, work)
        except SimulationError as error:  # the oracle has no deadlock
            raise AssertionError(error.message) from error
        for ran, line in zip(oracle, timing.queues, strict=True):
            assert [run.retire for run in ran] == [issue.end for issue in line]
            late = [run.late(bandwidths) for run in ran]
            assert late == [sum(item.cycles for item in issue.stalls) for issue in line]

    _drawn(check, 60, programs())


def _hazards() -> None:
    def check(stream: Stream) -> None:
        assert stream.unordered() == []

    _drawn(check, 200, blocks())
    _drawn(check, 200, contents())


def _alone() -> Iterable[tuple[Module, Program]]:
    """Yield the operators of all cases, each with a program of its own."""
    for case in CASES:
        module = scheduled(case)
        for schedule in by_themselves(module):
            single = alone(module, schedule)
            yield single, lower(single).program


def _fused_programs() -> Iterable[tuple[Module, Program]]:
    """Groups that finish sums and go on to an addition, or to a table."""
    for make, arch in product((bottleneck, inverted, fire), ("simba", "flexer-arch5")):
        graph, data = make()
        group = Group(members=tuple(op.name for op in graph.ops), rows=3)
        compiled = compile_fused(graph, data, arch, (group,))
        yield compiled.module, compiled.program


def _events() -> None:
    for module, program in chain(_alone(), _fused_programs()):
        schedule = tiles_of(module)
        for ours, theirs in zip(predicted(schedule), simulated(program), strict=True):
            assert ours == theirs, f"{program.name}: predicted {ours}, simulated {theirs}"


def _accounts() -> None:
    for module, program in chain(_alone(), _fused_programs()):
        schedule = tiles_of(module)
        assert module.arch is not None
        _none(difference(Account(schedule, module.arch), counted(program)))


def _traffic() -> None:
    """What a plan says of off-chip bytes is what its program moves, weights aside."""
    for case in CASES:
        module = scheduled(case)
        plan = module.graph_schedule
        assert plan is not None
        planned = check_schedule(module.graph, plan, module.arch)
        tiles = sum(schedule.transferred_bytes for schedule in by_themselves(module))
        moved = counted(lower(module).program).off_chip
        whole = planned.total - planned.streams
        assert whole + tiles == sum(item.read + item.written for item in moved)


def _bounds() -> None:
    _drawn(lambda case: assert_no_bound_is_beaten(*case), 150, mapped())


def _plans() -> None:
    _drawn(attacks.no_plan_beats, 20, problems(most=7, slack=3))
    _drawn(attacks.no_wall_asks_too_much, 40, forks())


# -- values ---------------------------------------------------------------------------------------


def prepare() -> None:
    """Compile what faults beyond the compiler leave as it is."""
    for case in CASES:
        scheduled(case)


def _simulated(module: Module, inputs: Mapping[str, Array]) -> SimulationResult:
    """Run a network; all judges of the simulator are on."""
    lowered = lower(module)
    lowered.program.verify()
    wanted = {item.name for item in lowered.program.symbols if item.kind is SymbolKind.CONSTANT}
    constants = module.constants.with_arrays(lowered.derived).only(frozenset(wanted))
    return simulate(lowered.program, constants, inputs, detect_races=True)


def _run_of(case: Case) -> tuple[Module, SimulationResult]:
    module = scheduled(case)
    return module, _simulated(module, random_inputs(module.graph, 0))


def _same_outputs(module: Module, inputs: Mapping[str, Array], run: SimulationResult) -> None:
    """Compare what left the chip with what NumPy computes."""
    expected = run_reference(module.graph, module.constants, inputs)
    shown = {item.name for item in run.program.symbols if item.name in expected}
    assert set(module.graph.outputs) <= shown
    for name in sorted(shown & run.stored):
        found = run.tensor(name)
        if found.dtype.kind == "f":
            np.testing.assert_allclose(found, expected[name], rtol=2e-4, atol=2e-4)
        else:
            np.testing.assert_array_equal(found, expected[name])


def _values() -> None:
    for case in CASES:
        with suppress(SimulationError):  # refused, which is another exam's objection
            module, run = _run_of(case)
            _same_outputs(module, random_inputs(module.graph, 0), run)


def _biases() -> None:
    graph, data, zeros = halfway_biases()
    module = Module(graph=graph, arch=CASES[0].machine, constants=Constants(data))
    for step in (
        ScheduleInOrder(),
        MapOperators(mapper="output-stationary"),
        ScheduleTiles(),
    ):
        module = step.run(module, Context())
    inputs = {"x": zeros}
    _same_outputs(module, inputs, _simulated(module, inputs))


def _onnxruntime() -> None:
    """NumPy's meaning of operators, which judges the simulator, is onnxruntime's."""
    rng = np.random.default_rng(0)
    image = any_bytes(rng, np.int8, 1, 16, 12, 12)
    window = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
    for kind, attrs in (("AveragePool", window), ("GlobalAveragePool", {}), ("MaxPool", window)):
        model = qdq_model(Sketch(), image, kind, scale=0.003, **attrs)
        compare(model, {"x": image})
    window |= {"kernel_shape": [2, 2], "ceil_mode": 1}  # a seventh one would begin in the padding
    compare(
        qdq_model(Sketch(), image[..., :11, :11], "MaxPool", scale=0.003, **window),
        {"x": image[..., :11, :11]},
    )
    colours = any_bytes(rng, np.int8, 1, 3, 9, 9)
    compare(convolution(Sketch(), rng, colours), {"x": colours})
    bytes_ = np.arange(256, dtype=np.uint8).view(np.int8)
    x, y = np.meshgrid(bytes_, bytes_)
    for scales in _SCALES:
        for kind in ("Add", "Mul"):
            compare(_pairs(kind, x, y, *scales), {"x": x, "y": y})


_SCALES = (
    (0.5, 0.5, 0.5),
    (0.06348700271797271, 0.040412010295641995, 0.04524571004753452),
    (0.06222991473881657, 0.036882651953703036, 0.07047953901607235),
)
"""Of two operands and a result; products that are halves, and sums that a last bit decides."""


def _pairs(kind: str, x: Array, y: Array, *scales: float) -> ModelProto:
    """Return an operator on two activations."""
    sketch = Sketch()
    a = sketch.dequantize("x", scales[0], np.int8(-7))
    b = sketch.dequantize("y", scales[1], np.int8(90))
    out = sketch.quantize(sketch.node(kind, a, b), scales[2], np.int8(-3))
    return sketch.model({"x": x, "y": y}, out, dtypes=("int8",))


def _sections() -> None:
    """A transformer block whose floats become integers inside is right in every section."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "block.onnx"
        save_model(block(6), path)
        found = judged_in_sections(path)
    assert found.sections > 1, f"{found.first_difference} differs"


_MACS = (mac_tests.macs(), st.integers(0, 9))


def _multiples() -> None:
    _drawn(mac_tests.test_integers_equal_the_definition.hypothesis.inner_test, 60, *_MACS)
    mac_tests.test_24_bits_hold_their_range()
    mac_tests.test_24_bits_trap_beyond_their_range()
    for test in (
        mac_tests.test_long_reductions_are_exact,
        mac_tests.test_accumulation_traps_one_beyond_the_range,
    ):
        for case in forgeries.cases(test):
            case()


# -- verifiers ------------------------------------------------------------------------------------


def _run() -> None:
    for case in CASES:
        module = scheduled(case)
        tiles_of(module).verify()
        plan = module.graph_schedule
        assert plan is not None
        verify_places(plan, tiles_of(module))
        _run_of(case)


def _translated() -> None:
    modules = [form for case in CASES for form in (scheduled(case), observed(scheduled(case)))]
    for module in (*modules, *map(rolling, (bottleneck, windows))):
        check_translation(module.graph, tiles_of(module), lower(module).program)


def _joint() -> None:
    for case in CASES[:4]:
        module = joined(case)
        tiles_of(module).verify()
        inputs = random_inputs(module.graph, 0)
        _same_outputs(module, inputs, _simulated(module, inputs))


EXAMS: Mapping[Exam, Callable[[], None]] = {
    Exam.EVENTS: _events,
    Exam.ACCOUNTS: _accounts,
    Exam.DESCRIPTORS: _descriptors,
    Exam.LINKS: partial(_drawn, check_links, 40, nests(machine()), st.sampled_from(MACHINES)),
    Exam.LAYOUTS: _layouts,
    Exam.NESTS: _nests,
    Exam.ARRAY: _array,
    Exam.WHOLE_NESTS: _whole_nests,
    Exam.HAZARDS: _hazards,
    Exam.CLOCK: _clock,
    Exam.TIMING: _timing,
    Exam.VALUES: _values,
    Exam.BIASES: _biases,
    Exam.ONNXRUNTIME: _onnxruntime,
    Exam.SECTIONS: _sections,
    Exam.MULTIPLES: _multiples,
    Exam.TRANSFERS: mesh.transfers,
    Exam.OFF_CHIP: mesh.off_chip_memory,
    Exam.MESHED: mesh.programs,
    Exam.TRAFFIC: _traffic,
    Exam.BOUNDS: _bounds,
    Exam.PLANS: _plans,
    Exam.BLOCKS: partial(_drawn, attacks.who_meets_whom, 60, block_lists(6, 1, 5)),
    Exam.UTILIZATION: attacks.utilization,
    Exam.FUSED: _fused,
    Exam.RUN: _run,
    Exam.TRANSLATED: _translated,
    Exam.JOINT: _joint,
    Exam.FORGED_SCHEDULES: forgeries.schedules,
    Exam.FORGED_PLANS: forgeries.plans,
    Exam.FORGED_PROGRAMS: forgeries.programs,
    Exam.FORGED_RACES: forgeries.races,
    Exam.FORGED_SECTIONS: forgeries.sections,
    Exam.FORGED_OPTIMA: attacks.optima,
    Exam.FORGED_FLOATS: attacks.floats,
}
