"""Where rounded floats become integers inside, a run is judged section by section."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

from accnn.compiler.driver import Result, compile
from accnn.compiler.options import CompileOptions
from accnn.compiler.report.table import verification_line
from accnn.compiler.verification import verdict
from accnn.compiler.verification.section_verdict import Cut, _compare_cut, cuts
from accnn.compiler.verification.verify import Tolerance, reference_outputs
from accnn.ir.isa.instructions import Activate, Activation, Instruction, Quantize, Reduce, Requant
from accnn.ir.isa.program import Program
from accnn.ir.report import VerificationStatus
from accnn.ir.text.parser import parse_module
from accnn.models.session import make_session
from benchmarks.fusion_block import block
from tests.compiler.sections import (
    OPTIONS,
    PIXELS,
    Case,
    X,
    averaged,
    between_bytes,
    case_of,
    compiled_for_sections,
    imported,
    judged_in_sections,
    jumping,
    quantised,
    transposed,
)
from tests.executed import executed
from tests.thinned import thinned


@pytest.fixture
def softmax(tmp_path: Path) -> Case:
    return case_of(quantised("Softmax", tmp_path / "net.onnx"))


def test_cuts_are_where_rounded_floats_become_integers(softmax: Case):
    (cut,) = cuts(softmax.network, softmax.graph)

    assert (cut.original, cut.source) == ("fq", "f")


def test_a_network_of_integers_has_no_cut(tmp_path: Path):
    case = case_of(quantised("Sigmoid", tmp_path / "net.onnx"))  # a table of bytes

    assert cuts(case.network, case.graph) == ()


def test_the_right_tensors_are_verified(softmax: Case):
    found = softmax.judge(softmax.tensors)

    assert found.status is VerificationStatus.VERIFIED
    assert found.sections == 2
    assert [item.name for item in found.outputs] == ["fq", "y"]


def test_the_other_side_of_a_tie_is_right_too(softmax: Case):
    (cut,) = cuts(softmax.network, softmax.graph)
    here = int(softmax.tensors[cut.name][0, 0])
    assert here in (2, 3)
    other = softmax.with_cut(0, 0, value=5 - here)

    assert not softmax.equals_the_whole(other)
    assert softmax.judge(other).status is VerificationStatus.VERIFIED


@pytest.mark.parametrize(
    ("row", "column", "value"),
    [(0, 0, 1), (0, 0, 4), (1, 0, 2), (1, 1, 3), (1, 1, 5), (0, 1, -128)],
)
def test_another_integer_is_wrong(softmax: Case, row: int, column: int, value: int):
    found = softmax.judge(softmax.with_cut(row, column, value=value))

    assert found.status is VerificationStatus.FAILED
    assert [(item.name, item.mismatches) for item in found.outputs] == [("fq", 1), ("y", 0)]


@pytest.fixture
def pool(tmp_path: Path) -> Case:
    return case_of(averaged(tmp_path / "net.onnx"), PIXELS)


def test_an_average_of_integers_may_lie_on_either_side_of_a_tie(pool: Case):
    (cut,) = cuts(pool.network, pool.graph)
    assert (cut.original, cut.source, cut.operand) == ("fq", "f", None)
    assert pool.tensors[cut.name].ravel().tolist() == [2, 2]

    assert pool.judge(pool.tensors).status is VerificationStatus.VERIFIED
    assert pool.judge(pool.with_cut(0, 0, 0, 0, value=1)).status is VerificationStatus.VERIFIED


@pytest.mark.parametrize(("channel", "value"), [(0, 0), (0, 3), (1, 1), (1, 3)])
def test_another_average_is_wrong(pool: Case, channel: int, value: int):
    found = pool.judge(pool.with_cut(0, channel, 0, 0, value=value))

    assert found.status is VerificationStatus.FAILED
    assert [(item.name, item.mismatches) for item in found.outputs] == [("fq", 1), ("y", 0)]


@pytest.fixture
def remainder(tmp_path: Path) -> Case:
    return case_of(jumping(tmp_path / "net.onnx"), arch="edge-fp32")


LESS_THAN_ONE = np.nextafter(np.float32(1), np.float32(0))


def test_a_network_is_cut_in_front_of_a_jump(remainder: Case):
    (cut,) = cuts(remainder.network, remainder.graph)

    assert (cut.original, cut.source, cut.operand) == ("f", "f", cut.name)
    assert remainder.tensors[cut.name][0].tolist() == [1, 1]


def test_either_side_of_a_jump_is_right(remainder: Case):
    other = remainder.with_cut(0, 0, value=LESS_THAN_ONE)
    ((_, name),) = remainder.network.imported.output_names
    assert other[name][0, 0] > 2.99 and remainder.tensors[name][0, 0] == 0

    for tensors in (remainder.tensors, other):
        found = remainder.judge(tensors)
        assert (found.status, found.sections) == (VerificationStatus.VERIFIED, 2)


def test_a_float_in_front_of_a_jump_is_held_to_its_tolerance(remainder: Case):
    found = remainder.judge(remainder.with_cut(0, 0, value=0.9999))

    assert [(item.name, item.mismatches) for item in found.outputs] == [("f", 1), ("y", 0)]


def test_behind_a_jump_only_what_follows_from_its_operand_is_right(remainder: Case):
    other = remainder.with_cut(0, 0, value=LESS_THAN_ONE)
    ((_, name),) = remainder.network.imported.output_names

    found = remainder.judge({**other, name: remainder.tensors[name]})

    assert [(item.name, item.mismatches) for item in found.outputs] == [("f", 0), ("y", 1)]


IMAGE = np.random.default_rng(3).integers(-9, 10, (1, 2, 4, 5)).astype(np.float32)


@pytest.fixture
def upsampling(tmp_path: Path) -> Case:
    return case_of(transposed(tmp_path / "net.onnx", strides=[2, 2]), IMAGE)


def test_a_transposed_convolution_is_cut_for_onnxruntime_adds_floats(upsampling: Case):
    (cut,) = cuts(upsampling.network, upsampling.graph)
    assert (cut.original, cut.source) == ("fq", "r")
    assert "conv2d" in {op.kind for op in upsampling.graph.ops}
    floats = [op for op in upsampling.graph.ops if op.kind in ("mul", "reduce_sum")]
    assert not floats

    assert upsampling.judge(upsampling.tensors).status is VerificationStatus.VERIFIED


@pytest.mark.parametrize("off", [1, -1])
def test_of_a_transposed_convolution_only_a_tie_may_differ(upsampling: Case, off: int):
    (cut,) = cuts(upsampling.network, upsampling.graph)
    right = upsampling.tensors[cut.name]
    place = tuple(int(axis[0]) for axis in np.nonzero(right == np.sort(right, None)[-3]))

    found = upsampling.judge(upsampling.with_cut(*place, value=int(right[place]) + off))

    exact = _sum_at(upsampling, place) / 2 - 128
    is_tie = abs(exact - np.floor(exact) - 0.5) < 1e-6 and abs(right[place] + off - exact) < 0.6
    assert (found.status is VerificationStatus.VERIFIED) == is_tie


def _sum_at(case: Case, place: tuple[int, ...]) -> float:
    """Return what onnxruntime quantises at a place."""
    model = onnx.shape_inference.infer_shapes(case.network.model)
    model.graph.output.append(onnx.helper.make_tensor_value_info("r", 1, None))
    return float(make_session(model).run(["r"], {"x": case.x})[0][place])


IMAGES = (1, 4, 9, 9)


@pytest.mark.parametrize(
    ("kind", "shapes", "weights", "attrs"),
    [
        ("Add", [IMAGES, IMAGES], (), {}),
        ("Conv", [IMAGES], (6, 4, 3, 3), {}),
        ("ConvTranspose", [IMAGES], (4, 6, 3, 3), {}),
        ("Einsum", [(3, 5)], (5, 7), {"equation": "ij,jk->ik"}),
        ("Gemm", [(3, 5)], (5, 7), {}),
        ("GlobalAveragePool", [IMAGES], (), {}),
        ("MatMul", [(2, 3, 5)], (5, 7), {}),
        ("Mul", [IMAGES, IMAGES], (), {}),
        ("ReduceMean", [IMAGES], (), {"axes": [2, 3]}),
        ("Sum", [IMAGES, IMAGES], (), {}),
    ],
    ids=lambda item: item if isinstance(item, str) else "",
)
def test_what_onnxruntime_leaves_in_float_is_cut(tmp_path: Path, kind, shapes, weights, attrs):
    path = between_bytes(tmp_path / "net.onnx", kind, *shapes, weights=weights, **attrs)
    network, module = imported(path)
    graph = module.graph

    assert "quantize" not in {op.kind for op in graph.ops}  # the compiler makes integers of it
    kinds = {node.op_type for node in executed(onnx.load(path), tmp_path)}
    assert bool(cuts(network, graph)) == (kind in kinds)


def test_a_sum_in_float_may_fall_to_the_other_side_of_a_tie(tmp_path: Path):
    path = between_bytes(tmp_path / "net.onnx", "Sum", IMAGES, IMAGES)

    found = compile(path, arch="edge-1m", options=OPTIONS).report.verification

    assert found.status is VerificationStatus.VERIFIED
    assert found.sections == 2
    assert found.apart  # of the outputs of one run, which are those of another side of ties


TRANSPOSED = (
    {},
    {"strides": [2, 2]},
    {"strides": [3, 2], "pads": [1, 0, 0, 2], "output_padding": [1, 0]},
    {"strides": [2, 1], "dilations": [2, 2]},
    {"strides": [2, 2], "auto_pad": "SAME_LOWER"},
)


@pytest.mark.parametrize(
    ("arch", "per_channel", "attrs"),
    [*thinned(("edge-1m", "simba"), (False, True), TRANSPOSED)],
)
def test_transposed_convolutions_run_on_the_array(tmp_path, arch, per_channel, attrs):
    path = transposed(tmp_path / "net.onnx", per_channel=per_channel, **attrs)

    found = compile(path, arch=arch, options=OPTIONS)

    assert found.report.verification.status is VerificationStatus.VERIFIED
    kinds = [op.kind for op in found.module.graph.ops]
    assert kinds.count("conv2d") == 1
    assert not {"mul", "reduce_sum", "stretch"} & set(kinds)


def test_a_fault_behind_a_cut_is_wrong(softmax: Case):
    ((_, name),) = softmax.network.imported.output_names
    tensors = {**softmax.tensors, name: softmax.tensors[name] + np.float32([[1, 0, 0], [0, 0, 0]])}

    found = softmax.judge(tensors)

    assert [(item.name, item.mismatches) for item in found.outputs] == [("fq", 0), ("y", 1)]


def a_reference_that_is_off(*arguments: object) -> dict[str, np.ndarray]:
    return {name: array + 1 for name, array in reference_outputs(*arguments).items()}


@pytest.mark.parametrize("mode", ["outputs", "layers"])
def test_a_run_that_differs_as_a_whole_is_judged_in_sections(tmp_path, monkeypatch, mode):
    path = quantised("Softmax", tmp_path / "net.onnx")
    np.savez(tmp_path / "x.npz", x=X)
    options = CompileOptions(
        mapper="output-stationary",
        scheduler="in-order",
        cache=None,
        verify=mode,
        inputs=tmp_path / "x.npz",
    )
    plain = compile(path, arch="edge-1m", options=options).report.verification
    monkeypatch.setattr(verdict, "reference_outputs", a_reference_that_is_off)

    found = compile(path, arch="edge-1m", options=options).report.verification

    assert (plain.sections, plain.apart) == (1, 0)
    assert (found.status, found.sections, found.apart) == (VerificationStatus.VERIFIED, 2, 6)
    assert "in 2 sections (6 outputs do in one run)" in verification_line(found)


def test_a_network_without_cuts_stays_failed(tmp_path, monkeypatch):
    path = quantised("Sigmoid", tmp_path / "net.onnx")
    monkeypatch.setattr(verdict, "reference_outputs", a_reference_that_is_off)

    found = compile(path, arch="edge-1m", options=OPTIONS).report.verification

    assert (found.status, found.sections) == (VerificationStatus.FAILED, 1)


@pytest.fixture(scope="module")
def islands(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """A transformer block: normalisations, softmax and gelu stay in float."""
    path = tmp_path_factory.mktemp("islands") / "block.onnx"
    onnx.save(block(6), path)
    return compiled_for_sections(path)


def test_a_right_program_with_floats_inside_is_verified_in_sections(islands: Result):
    found = judged_in_sections(islands)

    assert found.status is VerificationStatus.VERIFIED
    assert found.sections > 4


def with_a_larger_step(item: Quantize) -> Quantize:
    return replace(item, scale=item.scale * 1.05)


def without_the_last_element(item: Reduce) -> Reduce:
    return replace(item, shape=(*item.shape[:-1], item.shape[-1] - 1))


def without_negative_numbers(item: Activate) -> Activate:
    return replace(item, act=Activation.RELU)


def one_higher(item: Requant) -> Requant:
    return replace(item, zero_point=item.zero_point + 1)


@pytest.mark.parametrize(
    ("operator", "kind", "wrong", "where"),
    [
        ("n_QuantizeLinear_Output", Quantize, with_a_larger_step, "n_QuantizeLinear_Output"),
        ("m.reduce_mean", Reduce, without_the_last_element, "m_QuantizeLinear_Output"),
        ("p.softmax.sum", Reduce, without_the_last_element, "p_QuantizeLinear_Output"),
        ("t", Activate, without_negative_numbers, "t_QuantizeLinear_Output"),
        ("u.product.q", Requant, one_higher, "y"),
    ],
)
def test_a_wrong_program_with_floats_inside_is_refused(
    islands: Result, operator, kind, wrong, where
):
    damaged: list[Instruction] = []

    def damage(program: Program) -> Program:
        """Make the instructions of one operator wrong."""

        def changed(item: Instruction) -> Instruction:
            if not isinstance(item, kind) or program.operators[item.op] != operator:
                return item
            damaged.append(item)
            return wrong(item)

        queues = [
            replace(queue, instructions=tuple(map(changed, queue.instructions)))
            for queue in program.queues
        ]
        return replace(program, queues=tuple(queues))

    found = judged_in_sections(islands, damage)

    assert damaged
    assert (found.status, found.sections) == (VerificationStatus.FAILED, 1)
    assert found.first_difference == where


@pytest.mark.parametrize(
    "allowed", [Tolerance(relative=0.01), Tolerance(relative=0.004, absolute=0.6)]
)
@pytest.mark.parametrize(("scale", "off"), [(0.25, 4.5), (4.0, 0.75)])
def test_integers_may_be_off_half_a_step_and_what_their_floats_may_be(
    scale: float, off: float, allowed: Tolerance
):
    """The largest float is 100, so that each may be off by one."""
    graph = parse_module(
        f"""graph net {{
  input %x : f32<2>
  %q = quantize(%x) : s32<2, scale = {scale}, zero = 3>
  return %q
}}
"""
    ).graph
    cut, floats = Cut("q", "q", "x", "x"), np.array([100.0, 8.0], np.float32)

    for wrong in (0, int(off), int(off) + 1):
        found = np.array([100 / scale + 3, 8 / scale + 3 - wrong], np.int32)
        check = _compare_cut(cut, graph, found, floats, allowed)
        assert (check.mismatches > 0) is (wrong > off)
