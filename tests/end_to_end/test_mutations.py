"""The judges catch faults: each mutation of a right program makes a check fail."""

import dataclasses
import random
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from accnn.backend.package import load_package, save_package
from accnn.compiler.cli.acc_compile import app as acc_compile
from accnn.compiler.cli.acc_run import app as acc_run
from accnn.ir.errors import RaceError, SimulationError
from accnn.ir.isa.instructions import Access, AnyInstruction, Copy, Mac, Requant, Wait
from accnn.ir.isa.program import Program
from accnn.ir.text.parser import parse_program
from accnn.ir.text.printing.program import print_program
from accnn.ir.types import DType
from accnn.models.onnx_import.loading.load import load_model
from accnn.models.session import make_session, run
from accnn.runtime_sim.accesses import ByteTouch, Way, touches
from accnn.runtime_sim.functional import mac
from accnn.runtime_sim.simulate import simulate
from tests.flow import Compiled, compile_graph
from tests.networks import NetworkBuilder, per_tensor, residual_network
from tests.thinned import examples, thinned

Place = tuple[int, int]
"""Queue and position of an instruction."""


def unpadded_network():
    """A network in which all work counts: no tile lies in padding alone."""
    net = NetworkBuilder()
    x = net.input("x", (1, 8, 9, 9))
    a = net.conv(x, "a", 16, 1)
    net._weights("b", (16, 16, 3, 3))
    b = net.op("conv2d", (a, "b_w", "b_b"), "b", quant=per_tensor(0.08, 5))
    net._weights("e", (16, 1, 3, 3))
    e = net.op("conv2d", (b, "e_w", "e_b"), "e", {"groups": 16}, per_tensor(0.08, 1))
    f = net.op("add", (e, e), "f", quant=per_tensor(0.1, 1))
    g = net.op("max_pool", (f,), "g", {"kernel": (2, 2), "stride": (1, 1)})
    r = net.op("reshape", (g,), "r", {"shape": (1, 256)})
    return net.build(net.dense(r, "y", 37)), net.data


PLANS = {
    "simba": ("simba", "in-order", 3000),
    "flexer-arch5": ("flexer-arch5", "in-order", 3000),
    "simba, cosma": ("simba", "cosma", 1500),
    "flexer-arch5, cosma": ("flexer-arch5", "cosma", 2500),
}
"""Machine, who plans the scratchpad, and its size [byte]: tensors stay, stream and are moved."""


@pytest.fixture(scope="module", params=[*thinned([*PLANS], one_in=3)])
def compiled(request: pytest.FixtureRequest) -> Compiled:
    arch, scheduler, budget = PLANS[request.param]
    found = compile_graph(
        *unpadded_network(), arch, budget=budget, scheduler=scheduler, comfortable=8192
    )
    assert found.wrong(found.run(detect_races=True)) == []
    return found


def places(program: Program, kind: type[AnyInstruction]) -> list[Place]:
    """Return where instructions of a kind stand."""
    return [
        (number, position)
        for number, queue in enumerate(program.queues)
        for position, item in enumerate(queue.instructions)
        if isinstance(item, kind)
    ]


def at(program: Program, place: Place) -> AnyInstruction:
    return program.queues[place[0]].instructions[place[1]]


def with_instruction(program: Program, place: Place, item: AnyInstruction) -> Program:
    """Return a program with one instruction replaced."""
    number, position = place
    queue = program.queues[number]
    stream = (*queue.instructions[:position], item, *queue.instructions[position + 1 :])
    queues = list(program.queues)
    queues[number] = replace(queue, instructions=stream)
    return replace(program, queues=tuple(queues))


def is_caught(compiled: Compiled, mutant: Program) -> bool:
    """Whether a mutant traps, or its tensors differ."""
    try:
        with np.errstate(all="ignore"):  # garbage may be infinite
            return compiled.wrong(compiled.run(mutant)) != []
    except SimulationError:
        return True


# Waits ---------------------------------------------------------------------------------------


def clocks(program: Program) -> dict[Place, dict[int, int]]:
    """Return how far every queue has come, at least, before each instruction starts."""
    found: dict[Place, dict[int, int]] = {}
    waiting = [0] * len(program.queues)
    progress = True
    while progress:
        progress = False
        for number, queue in enumerate(program.queues):
            while waiting[number] < len(queue.instructions):
                position = waiting[number]
                waits = queue.instructions[position].waits
                if any(waiting[wait.queue] < wait.count for wait in waits):
                    break
                found[number, position] = clock_of(found, (number, position), waits)
                waiting[number] += 1
                progress = True
    return found


def clock_of(
    known: dict[Place, dict[int, int]], place: Place, waits: tuple[Wait, ...]
) -> dict[int, int]:
    number, position = place
    clock = {number: position}
    before = [(number, position - 1)] if position else []
    for other in [*before, *((wait.queue, wait.count - 1) for wait in waits)]:
        for queue, count in {**known[other], other[0]: other[1] + 1}.items():
            clock[queue] = max(clock.get(queue, 0), count)
    return clock


def needed_waits(program: Program) -> Iterator[tuple[Place, Wait, int]]:
    """Yield the waits that order something that no other wait orders, and from where on."""
    known = clocks(program)
    for place in known:
        waits = at(program, place).waits
        for wait in waits:
            others = tuple(other for other in waits if other != wait)
            ordered = clock_of(known, place, others).get(wait.queue, 0)
            if ordered < wait.count:
                yield place, wait, ordered


def bytes_of(touch: ByteTouch) -> set[int]:
    found: set[int] = set()
    for lattice in touch.region.lattices:
        places = np.array([touch.access.address + lattice.offset])
        for extent, stride in zip(lattice.shape, lattice.strides, strict=True):
            places = (places[:, None] + np.arange(extent) * stride).ravel()
        found.update(places.tolist())
    return found


def conflict(one: AnyInstruction, other: AnyInstruction) -> bool:
    """Whether two instructions touch a byte in common, at least one of them to write it."""
    return any(
        (a.access.space, a.access.npu) == (b.access.space, b.access.npu)
        and Way.WRITE in (a.way, b.way)
        and not bytes_of(a).isdisjoint(bytes_of(b))
        for a in touches(one)
        for b in touches(other)
    )


def true_waits(program: Program) -> list[tuple[Place, Wait]]:
    """Return the needed waits without which some byte is touched out of order.

    A tensor that takes over room waits for all who touched what was there before, also where their
    bytes differ; there are few such waits.
    """
    needed = list(needed_waits(program))
    found = [
        (place, wait)
        for place, wait, ordered in needed
        if any(
            conflict(at(program, place), at(program, (wait.queue, position)))
            for position in range(ordered, wait.count)
        )
    ]
    assert len(found) >= 0.95 * len(needed) > 0
    return found


def without_wait(program: Program, place: Place, wait: Wait) -> Program:
    item = at(program, place)
    waits = tuple(other for other in item.waits if other != wait)
    return with_instruction(program, place, replace(item, waits=waits))


def races(compiled: Compiled, mutant: Program) -> bool:
    """Whether a run as users do it finds a race, or a read before anything was written."""
    try:
        compiled.run(mutant)
    except RaceError:
        return True
    except SimulationError as error:
        assert "which nothing has written" in str(error)
        return True
    return False


def test_every_needed_wait_is_missed(compiled: Compiled):
    waits = true_waits(compiled.program)
    chosen = random.Random(0).sample(waits, min(examples(20), len(waits)))

    unnoticed = [
        compiled.program.where(*place) + f" {wait}"
        for place, wait in chosen
        if not races(compiled, without_wait(compiled.program, place, wait))
    ]

    assert len(waits) > 20
    assert unnoticed == []


def test_a_wait_for_one_instruction_less_is_noticed(compiled: Compiled):
    program = compiled.program
    waits = [
        (place, wait)
        for place, wait in true_waits(program)
        if wait.count > 1
        and conflict(at(program, place), at(program, (wait.queue, wait.count - 1)))
    ]
    chosen = random.Random(1).sample(waits, min(examples(12), len(waits)))

    def weaker(place: Place, wait: Wait) -> Program:
        item = at(compiled.program, place)
        less = tuple(
            Wait(other.queue, other.count - 1) if other == wait else other for other in item.waits
        )
        return with_instruction(compiled.program, place, replace(item, waits=less))

    assert all(races(compiled, weaker(place, wait)) for place, wait in chosen)


def test_a_wait_taken_out_of_the_assembly_is_a_race():
    compiled = compile_graph(*residual_network(8, 4), "edge-1m", budget=6000)
    lines = "".join(print_program(compiled.program)).splitlines()
    number = next(
        number for number, line in enumerate(lines) if line.strip().startswith("mac {waits")
    )
    untouched = parse_program("\n".join(lines))
    lines[number] = re.sub(r"waits = \[[^]]*\], ", "", lines[number])
    mutant = parse_program("\n".join(lines))

    assert untouched == compiled.program
    compiled.run(untouched, detect_races=True)
    with pytest.raises(RaceError, match="no wait orders them"):
        compiled.run(mutant, detect_races=True)


# Instructions --------------------------------------------------------------------------------


def moved(access: Access, distance: int) -> Access:
    return replace(access, address=access.address + distance)


def restrided(access: Access, shape: tuple[int, ...]) -> Access | None:
    """Return an access with the stride of its longest loop changed, if a loop moves at all."""
    axes = [axis for axis, extent in enumerate(shape) if extent > 1 and access.strides[axis]]
    if not axes:
        return None
    axis = max(axes, key=lambda number: shape[number])
    strides = list(access.strides)
    strides[axis] += strides[axis] if strides[axis] < 4 else -1
    return replace(access, strides=tuple(strides))


MUTATIONS: dict[str, tuple[type[AnyInstruction], Callable[[AnyInstruction], object]]] = {
    "address a copy reads": (Copy, lambda i: replace(i, src=moved(i.src, i.element_bytes))),
    "address a copy writes": (Copy, lambda i: replace(i, dst=moved(i.dst, i.element_bytes))),
    "address of inputs": (Mac, lambda i: replace(i, x=moved(i.x, 1))),
    "address of weights": (Mac, lambda i: replace(i, w=moved(i.w, 1))),
    "address of sums": (Mac, lambda i: replace(i, acc=moved(i.acc, i.acc_bytes))),
    "zero point of inputs": (Mac, lambda i: replace(i, x_zero=i.x_zero + 16)),
    "what accumulates": (Mac, lambda i: replace(i, accumulate=not i.accumulate)),
    "address of outputs": (Requant, lambda i: replace(i, dst=moved(i.dst, 1))),
    "zero point of outputs": (Requant, lambda i: replace(i, zero_point=i.zero_point + 1)),
    "stride of outputs": (
        Requant,
        lambda i: (changed := restrided(i.dst, i.shape)) and replace(i, dst=changed),
    ),
    "stride of a copy": (
        Copy,
        lambda i: (changed := restrided(i.src, i.shape)) and replace(i, src=changed),
    ),
}


@pytest.mark.parametrize("what", MUTATIONS)
def test_a_changed_instruction_is_caught(what: str, compiled: Compiled):
    kind, mutate = MUTATIONS[what]
    everywhere = places(compiled.program, kind)
    chosen = random.Random(2).sample(everywhere, min(examples(6), len(everywhere)))
    mutants = [
        (place, with_instruction(compiled.program, place, mutant))
        for place in chosen
        if (mutant := mutate(at(compiled.program, place))) is not None
    ]

    missed = [compiled.program.where(*at) for at, item in mutants if not is_caught(compiled, item)]

    assert mutants
    assert missed == []


# The simulator -------------------------------------------------------------------------------


def test_a_wrong_stride_in_the_simulator_is_caught(
    compiled: Compiled, monkeypatch: pytest.MonkeyPatch
):
    right = mac.windows

    def wrong(port, access, leading, outputs, taps, window, dtype, padding):
        stretched = dataclasses.replace(window, stride=(window.stride[0], window.stride[1] + 1))
        return right(port, access, leading, outputs, taps, stretched, dtype, padding)

    monkeypatch.setattr(mac, "windows", wrong)

    assert is_caught(compiled, compiled.program)


# Constants -----------------------------------------------------------------------------------


def test_one_step_of_a_multiplier_decides_ties():
    """A factor of 1/2 puts every other product on a tie, which the next float breaks."""
    net = NetworkBuilder()
    net.types["x"] = net.types[net.input("x", (1, 4, 8, 8), 0)]
    quant = dataclasses.replace(per_tensor(0.0), scale=(0.5,) * 4, zero_point=(0,) * 4, axis=0)
    net.constant("w", (4, 4, 1, 1), DType.S8, quant)
    net.data["w"] = np.eye(4, dtype=np.int8).reshape(4, 4, 1, 1)
    net.op("conv2d", ("x", "w"), "y", quant=per_tensor(0.05))
    compiled = compile_graph(net.build("y"), net.data, "simba")
    factors = compiled.constants["y.multiplier"]
    assert np.all(factors == 0.5)
    nudged = factors.copy()
    nudged[2] = np.nextafter(np.float32(0.5), np.float32(1))

    constants = compiled.constants.with_arrays({"y.multiplier": nudged})
    result = simulate(compiled.program, constants, compiled.inputs)

    wrong = result.outputs["y"] != compiled.expected["y"]
    assert compiled.wrong(compiled.run()) == []
    assert wrong[:, 2].any()
    assert not wrong[:, [0, 1, 3]].any()


def test_a_changed_weight_is_caught(compiled: Compiled):
    rng = np.random.default_rng(0)
    for name in ("a_w", "b_w", "e_w", "y_w"):
        weights = compiled.constants[name].copy()
        place = tuple(int(rng.integers(extent)) for extent in weights.shape)
        weights[place] ^= np.int8(-128)
        constants = compiled.constants.with_arrays({name: weights})

        result = simulate(compiled.program, constants, compiled.inputs)

        assert name.removesuffix("_w") in compiled.wrong(result)


@pytest.fixture(scope="module")
def results(branched: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results") / "net.acc"
    arguments = [str(branched), "--arch", "simba", "-o", str(folder)]
    arguments += ["--mapper", "output-stationary", "--processes", "1"]
    arguments += ["--scheduler", "in-order", "--verify", "off"]
    assert CliRunner().invoke(acc_compile, arguments).exit_code == 0
    port = load_package(folder / "program.acc").manifest.inputs[0]
    noise = np.random.default_rng(0).standard_normal(port.type.shape).astype(np.float32)
    np.savez(folder / "in.npz", **{port.name: noise})
    return folder


def execute(folder: Path, program: Path, output: Path):
    arguments = [str(program), "--input", str(folder / "in.npz"), "--output", str(output)]
    return CliRunner().invoke(acc_run, arguments)


def changed_package(source: Path, target: Path) -> None:
    """Copy a package with one byte of its constants changed."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for entry in old.infolist():
            content = bytearray(old.read(entry))
            if entry.filename == "constants.safetensors":
                content[-1000] ^= 0x40
            new.writestr(entry, bytes(content))


def test_a_changed_byte_of_a_constant_is_noticed_before_the_run(results: Path, tmp_path: Path):
    changed_package(results / "program.acc", tmp_path / "bad.acc")

    done = execute(results, tmp_path / "bad.acc", tmp_path / "out.npz")

    assert done.exit_code == 2
    assert "constants.safetensors was changed" in done.stderr
    assert not (tmp_path / "out.npz").exists()


def test_a_program_runs_without_the_model_and_a_changed_constant_differs(
    results: Path, tmp_path: Path
):
    model = load_model(results / "model.onnx")
    feeds = dict(np.load(results / "in.npz"))
    expected = run(make_session(model), feeds)
    package = load_package(results / "program.acc")
    biases = [name for name, data in package.constants.items() if data.dtype == np.int32]
    bias = package.constants[biases[-1]].copy()
    bias.view(np.uint8)[2] ^= 0x40
    save_package(
        tmp_path / "forged.acc",
        package.program,
        package.constants.with_arrays({biases[-1]: bias}),
        names=[(port.name, port.symbol) for port in package.manifest.inputs],
    )

    good = execute(results, results / "program.acc", tmp_path / "good.npz")
    forged = execute(results, tmp_path / "forged.acc", tmp_path / "forged.npz")

    assert (good.exit_code, forged.exit_code) == (0, 0)
    for name, right in expected.items():
        assert np.array_equal(np.load(tmp_path / "good.npz")[name], right)
    symbol = package.manifest.outputs[0]
    assert not np.array_equal(
        np.load(tmp_path / "forged.npz")[symbol.symbol], expected[symbol.name]
    )
