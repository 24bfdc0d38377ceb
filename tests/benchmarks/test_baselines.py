"""What papers' rows are measured against: static orders of one loop, regions, the tiled default."""

import numpy as np
import pytest

from accnn.backend.load import load_architecture
from accnn.ir.workload import Dim, Workload
from accnn.passes.mapping.cuda.kernel import write_cuda_kernel
from accnn.passes.scheduling.flexer.latency import TileTimer
from accnn.passes.scheduling.flexer.layer import ConvLayer, layer_site, schedule_layer
from accnn.passes.scheduling.flexer.options import FlexerOptions
from benchmarks.flexer_baselines import RULES, Rules, best_in_one_loop, best_regions, one_loop
from benchmarks.flexer_reuse import sharing
from benchmarks.gpu import tiled
from benchmarks.gpu_check import COMPILER, is_right, wide

ARCH = load_architecture("flexer-arch5")
LAYER = ConvLayer(name="x", height=8, width=8, C=64, K=64, R=3, S=3, pads=(1, 1, 1, 1))


class TestOneLoop:
    def test_a_set_shares_one_operand_and_no_accumulator(self):
        reads = np.array(
            [[0, 0, 9], [0, 1, 8], [0, 2, 7], [1, 0, 6], [1, 0, 6], [1, 3, 5], [2, 3, 4], [2, 2, 3]]
        )

        order, sets = one_loop(reads, 4)

        assert order.tolist() == list(range(8))
        assert sets.tolist() == [3, 1, 2, 2]

    def test_a_set_is_no_larger_than_the_npus(self):
        reads = np.array([[0, number, number] for number in range(7)])

        assert one_loop(reads, 3)[1].tolist() == [3, 3, 1]
        assert one_loop(reads, 1)[1].tolist() == [1] * 7

    def test_with_addresses_it_shares_one_operand_and_is_no_better_than_all_static_orders(self):
        found = best_in_one_loop(layer_site(LAYER, ARCH), TileTimer(ARCH))
        static = schedule_layer(LAYER, ARCH, FlexerOptions(steps=0, block_orders=0)).static

        assert all(len(pattern.split()) == 1 for pattern in sharing(found))
        assert found.cycles * found.bytes >= 0.99 * static.cycles * static.bytes


class TestRegions:
    def test_transfers_wait_or_overlap(self):
        assert Rules().cost(100.0, 640.0, 32.0).cycles == 120.0
        assert Rules(buffers=2).cost(100.0, 640.0, 32.0).cycles == 100.0
        assert Rules(overlaps=True).cost(10.0, 640.0, 32.0).cycles == 20.0

    def test_more_freedom_costs_no_more_and_wider_tensors_no_less(self):
        small = ConvLayer(name="x", height=14, width=14, C=64, K=64, R=3, S=3, pads=(1, 1, 1, 1))
        options = FlexerOptions(ratio=3.0)
        rules = list(RULES.values())
        site = layer_site(small, ARCH)
        found = dict(zip(RULES, best_regions(site, TileTimer(ARCH), options, rules), strict=True))

        for bits, kind in ((8, "blocking"), (16, "blocking"), (8, "two buffers")):
            dealt = found[f"{bits} bits, dealt, {kind}"]
            assert dealt.metric <= found[f"{bits} bits, one loop, {kind}"].metric * (1 + 1e-9)
        assert found["16 bits, dealt, blocking"].bytes > found["8 bits, dealt, blocking"].bytes


class TestTiledDefault:
    @pytest.mark.parametrize(
        "work",
        [
            wide(R=3, S=3, P=9, Q=7, C=20, K=40),
            wide(P=1, Q=1, C=100, K=70),
            wide(R=7, S=7, P=6, Q=40, C=3, K=8, stride=(2, 2)),
        ],
        ids=str,
    )
    @pytest.mark.skipif(COMPILER is None, reason="there is no compiler for C")
    def test_fits_and_computes_what_it_should(self, work: Workload, tmp_path):
        arch = load_architecture("gpu-k80")
        nest = tiled(work, arch)

        nest.verify(arch)

        assert is_right(write_cuda_kernel(nest, arch), work, tmp_path)
        assert not {loop.dim for loop in nest.spatial} - {Dim.K, Dim.P, Dim.Q}
