"""Kernels compute what their workload says: built by a C compiler and run, against NumPy."""

import re
import subprocess
from pathlib import Path

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.errors import OptionError
from accnn.ir.mapping import Allocation, Loop, LoopNest, SpatialLoop, even_nest
from accnn.ir.workload import Dim, Operand, Workload
from accnn.passes.mapping.cuda.kernel import write_cuda_kernel
from accnn.passes.mapping.problem import MappingProblem
from accnn.passes.mapping.registry import find_mapper
from benchmarks.gpu_check import COMPILER, CUDA, is_right, wide

GPU = load_architecture("gpu-k80")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no compiler for C")


WORKLOADS = (
    wide(R=3, S=3, P=7, Q=6, C=8, K=12),
    wide(P=5, Q=4, C=24, K=10, N=2, stride=(2, 2)),
    wide(R=3, S=2, P=6, Q=5, C=3, K=4, G=3, dilation=(2, 1)),
    wide(R=3, S=3, P=9, Q=9, C=4, K=4, stride=(2, 1)),
    wide(bits=8, R=3, S=3, P=7, Q=7, C=11, K=13),
    wide(bits=16, P=17, C=30, K=20),
    wide(R=2, S=5, P=4, Q=6, C=2, K=2, stride=(3, 2), dilation=(3, 2)),
)


OUTSIDE = even_nest(
    wide(R=3, P=4, C=6, K=4),
    GPU,
    {"gb": [Loop(Dim.C, 3), Loop(Dim.P, 2), Loop(Dim.R, 3)], "smem": [Loop(Dim.C, 2)]},
    [SpatialLoop(Dim.P, 2, "thread_y"), SpatialLoop(Dim.K, 4, "thread_x")],
)
"""Its sums return to memory, and are added to there."""
PADDED = even_nest(
    wide(R=3, S=2, P=5, Q=3, C=5, K=3, stride=(2, 2)),
    GPU,
    {"dram": [Loop(Dim.K, 2), Loop(Dim.C, 6), Loop(Dim.S, 3)], "reg": [Loop(Dim.R, 3)]},
    [
        SpatialLoop(Dim.P, 3, "thread_x"),
        SpatialLoop(Dim.P, 2, "thread_z"),
        SpatialLoop(Dim.Q, 4, "thread_x"),
        SpatialLoop(Dim.K, 2, "thread_y"),
    ],
)
"""Every coordinate but R is padded."""


def with_starts(nest: LoopNest, *starts: tuple[Operand, str, int]) -> LoopNest:
    """Return a nest that keeps nothing but what is given, and all off chip."""
    kept = [Allocation(operand, "dram", 0) for operand in Operand]
    kept += [Allocation(*start) for start in starts]
    return LoopNest(
        workload=nest.workload,
        temporal=nest.temporal,
        spatial=nest.spatial,
        allocations=tuple(kept),
    )


NESTS = {
    "sums return": OUTSIDE,
    "padded": PADDED,
    "nothing kept": with_starts(OUTSIDE),
    "no sums kept": with_starts(OUTSIDE, (Operand.W, "smem", 1), (Operand.I, "reg", 3)),
    "uneven": with_starts(
        PADDED, (Operand.O, "reg", 1), (Operand.I, "smem", 2), (Operand.W, "reg", 3)
    ),
}


@needs_compiler
class TestNumbers:
    @pytest.mark.parametrize("work", WORKLOADS, ids=str)
    @pytest.mark.parametrize("mapper", ["output-stationary", "random"])
    def test_equal_those_of_the_workload(self, work: Workload, mapper: str, tmp_path: Path):
        nest = find_mapper(mapper).map(MappingProblem(workload=work, arch=GPU)).nest

        assert is_right(write_cuda_kernel(nest, GPU), work, tmp_path)

    @pytest.mark.parametrize("nest", NESTS.values(), ids=NESTS)
    def test_of_nests_by_hand(self, nest: LoopNest, tmp_path: Path):
        nest.verify(GPU)

        assert is_right(write_cuda_kernel(nest, GPU), nest.workload, tmp_path)

    @pytest.mark.parametrize(
        ("right", "wrong"),
        [("+= (float)", "= (float)"), ("p1 * 2", "p1"), ("c0 * 2", "c0"), ("tx / 1 % 4", "0")],
    )
    def test_differ_where_the_text_is_changed(self, right: str, wrong: str, tmp_path: Path):
        text = write_cuda_kernel(OUTSIDE, GPU)
        assert right in text

        assert not is_right(text.replace(right, wrong), OUTSIDE.workload, tmp_path)


def test_leading_loops_over_outputs_become_blocks():
    assert "#define BLOCKS 2\n" in write_cuda_kernel(PADDED, GPU)
    assert "#define BLOCKS 1\n" in write_cuda_kernel(OUTSIDE, GPU)
    assert "#define THREADS 48\n" in write_cuda_kernel(PADDED, GPU)


@pytest.mark.parametrize("work", WORKLOADS, ids=str)
def test_tiles_are_as_large_as_the_nest_says(work: Workload):
    nest = find_mapper("output-stationary").map(MappingProblem(workload=work, arch=GPU)).nest
    text = write_cuda_kernel(nest, GPU)

    sizes = re.findall(r"shared_[WI]\[(\d+)\];", text)

    taken = sum(amount for _, amount in nest.bytes_at(GPU, "smem"))
    found = sum(map(int, sizes)) * work.weight_bits // 8
    gaps = max(work.dilation) > 1 and max(work.stride) > 1
    assert found >= taken if gaps else found == taken


def test_gaps_that_do_not_fit_are_refused():
    work = wide(P=96, Q=96, R=2, S=2, stride=(2, 2), dilation=(3, 3))
    small = even_nest(
        work,
        GPU,
        {"smem": [Loop(Dim.P, 8), Loop(Dim.Q, 12), Loop(Dim.R, 2), Loop(Dim.S, 2)]},
        [SpatialLoop(Dim.P, 12, "thread_x"), SpatialLoop(Dim.Q, 8, "thread_y")],
        frozenset({(Operand.O, "reg")}),
    )

    with pytest.raises(OptionError, match="shared memory of 49152 bytes"):
        write_cuda_kernel(small, GPU)


@pytest.mark.skipif(CUDA is None, reason="there is no compiler for CUDA")
@pytest.mark.parametrize("nest", [OUTSIDE, PADDED], ids=["sums return", "padded"])
def test_a_compiler_of_cuda_takes_the_text(nest: LoopNest, tmp_path: Path):
    (tmp_path / "kernel.cu").write_text(write_cuda_kernel(nest, GPU))
    assert CUDA is not None

    line = [CUDA, "-ptx", "kernel.cu", "-o", "kernel.ptx"]
    made = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert made.returncode == 0, made.stderr
    assert ".entry layer" in (tmp_path / "kernel.ptx").read_text()


@pytest.mark.parametrize("name", ["simba", "edge-1m", "eyeriss"])
def test_a_machine_that_is_no_block_of_threads_is_refused(name: str):
    arch = load_architecture(name)
    nest = find_mapper("output-stationary").map(MappingProblem(workload=wide(8), arch=arch)).nest

    with pytest.raises(OptionError, match="no block of threads"):
        write_cuda_kernel(nest, arch)


def test_widths_that_differ_are_refused():
    work = Workload(P=4, weight_bits=8, input_bits=16)

    with pytest.raises(OptionError, match="not 8 and 16 bits"):
        write_cuda_kernel(even_nest(work, GPU, {"dram": [Loop(Dim.P, 4)]}), GPU)
