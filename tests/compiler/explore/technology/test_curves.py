"""The laws are as close to the published figures as the documents say."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from accnn.backend.load import load_architecture
from accnn.compiler.explore.technology.area import area_mm2, sram_bytes
from accnn.compiler.explore.technology.curves import energy_ratio, fit, memory_laws, memory_um2
from accnn.compiler.explore.technology.energy import with_scaled_energies
from accnn.compiler.explore.technology.published import (
    CACHES_PJ,
    MEMORIES,
    NODES,
    REGISTER_UM2,
    PublishedMemory,
)
from accnn.ir.arch import Architecture

SIMBA = load_architecture("simba")
PAGE = Path(__file__).parents[4] / "docs" / "explore.md"
FIGURES = ("read_pj", "write_pj", "area_um2")


def with_capacity(arch: Architecture, name: str, capacity: int) -> Architecture:
    levels = (replace(x, capacity=capacity) if x.name == name else x for x in arch.levels)
    return replace(arch, levels=tuple(levels))


def ratios(figure: str) -> list[float]:
    """Return fitted over published values."""
    law = getattr(memory_laws(), figure)
    return [law(item.capacity, item.word_bits) / getattr(item, figure) for item in MEMORIES]


def as_documented(name: str, figure: str) -> str:
    """Return the row of the page that tells a law and its errors."""
    law, found = getattr(memory_laws(), figure), ratios(figure)
    near = sum(0.8 < ratio < 1.25 for ratio in found)
    return (
        f"| {name} | {law.scale:.4g} | {law.growth:.3f} | {law.widening:.3f} "
        f"| {min(found):.2f} to {max(found):.2f} | {near} of {len(found)} |"
    )


def test_a_law_is_recovered():
    points = [
        (size, bits, 3.0 * size**0.5 * bits**0.25) for size in (1, 10, 99) for bits in (8, 16)
    ]

    found = fit(points)

    assert found(64, 16) == pytest.approx(48.0)


@pytest.mark.parametrize("figure", FIGURES)
def test_laws_are_the_least_squares_of_the_table(figure: str):
    def row(item: PublishedMemory) -> tuple[float, float, float, float]:
        return 1.0, np.log(item.capacity), np.log(item.word_bits), np.log(getattr(item, figure))

    table = np.array([row(item) for item in MEMORIES])
    constant, growth, widening = np.linalg.lstsq(table[:, :3], table[:, 3], rcond=None)[0]

    law = getattr(memory_laws(), figure)
    assert (law.scale, law.growth, law.widening) == pytest.approx(
        (np.exp(constant), growth, widening)
    )


@pytest.mark.parametrize(
    ("name", "figure"),
    [("read [pJ]", "read_pj"), ("write [pJ]", "write_pj"), ("area [um2]", "area_um2")],
)
def test_laws_and_errors_are_those_of_the_documents(name: str, figure: str):
    assert as_documented(name, figure) in PAGE.read_text(encoding="utf-8")


def test_caches_are_as_far_from_the_law_as_the_documents_say():
    law = memory_laws().read_pj
    texts = [f"{law(size, 64) / energy:.2f}" for size, energy in CACHES_PJ]

    assert f"{texts[0]}, {texts[1]} and {texts[2]} times" in PAGE.read_text(encoding="utf-8")


def test_areas_of_the_table_follow_the_square_of_the_node():
    (first, area), *others = NODES

    for node, other in others:
        assert other == pytest.approx(area * (node / first) ** 2, rel=0.001)


def test_area_grows_from_one_bit_to_megabytes():
    areas = [memory_um2(size, 64) for size in (1, 8, 32, 63, 64, 65, 1024, 2**21)]

    assert areas[0] == 8 * REGISTER_UM2
    assert all(one <= other for one, other in pairwise(areas))


def test_energy_below_the_smallest_memory_is_that_of_the_smallest():
    law = memory_laws().read_pj

    assert energy_ratio(law, 1, 64) == 1.0
    assert energy_ratio(law, 128, 16) == energy_ratio(law, 128, 64) > 1.0


def test_a_capacity_changes_area_and_energy_of_its_memory_alone():
    larger = with_capacity(SIMBA, "gb", 4 * 131072)

    scaled = with_scaled_energies(larger, SIMBA)

    laws = memory_laws()
    assert scaled.level("gb").read_energy == pytest.approx(10 * 4**laws.read_pj.growth)
    assert scaled.level("gb").write_energy == pytest.approx(10 * 4**laws.write_pj.growth)
    assert scaled.level("ib") == SIMBA.level("ib")
    assert area_mm2(larger, 45.0) > area_mm2(SIMBA, 45.0)
    assert sram_bytes(larger) == sram_bytes(SIMBA) + 3 * 131072


def test_energies_that_a_study_sets_are_left_alone():
    larger = with_capacity(SIMBA, "gb", 4 * 131072)

    scaled = with_scaled_energies(larger, SIMBA, {"gb.read_energy"})

    assert scaled.level("gb").read_energy == 10
    assert scaled.level("gb").write_energy > 10


def test_areas_follow_the_square_of_the_node():
    assert area_mm2(SIMBA, 90.0) == pytest.approx(4 * area_mm2(SIMBA, 45.0))
