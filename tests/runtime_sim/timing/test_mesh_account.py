"""The account of a run over the mesh adds up, and prices what crossed."""

from dataclasses import replace

import numpy as np
import pytest

from accnn.compiler.driver import compile
from accnn.compiler.execute import QUICK
from accnn.compiler.report.html.page import html_report
from accnn.compiler.report.mesh_table import memory_line, mesh_line
from accnn.ir.report import Cause
from accnn.runtime_sim.timing.events import TimingModel

from ...onnx_rows import convolutions_in_a_row


def compiled_both_ways():
    """Return the same network, timed both ways."""
    model = convolutions_in_a_row((8, 16, 3, 1), (16, 32, 1, 1))
    options = replace(QUICK, verify="outputs")
    return [
        compile(model, arch="simba", options=replace(options, timing=timing))
        for timing in TimingModel
    ]


@pytest.fixture(scope="module")
def results():
    return compiled_both_ways()


def _compiled(arch, size=14):
    model = convolutions_in_a_row((8, 16, 3, 1), (16, 32, 1, 1), size=size)
    options = replace(QUICK, verify="outputs", timing=TimingModel.NETWORK)
    return compile(model, arch=arch, options=options)


def test_only_a_run_over_the_mesh_has_an_account(results):
    plain, meshed = results
    assert plain.report.mesh is None
    mesh = meshed.report.mesh
    assert mesh.cycles == meshed.simulation.cycles
    assert mesh.analytical_cycles == plain.simulation.cycles < mesh.cycles
    for name, found in plain.simulation.outputs.items():
        np.testing.assert_array_equal(found, meshed.simulation.outputs[name])


def test_the_array_computes_or_waits(results):
    plain, meshed = results
    for item in meshed.report.mesh.operators:
        account = next(one for one in meshed.simulation.operators if one.name == item.name)
        before = next(one for one in plain.simulation.operators if one.name == item.name)
        assert item.cycles == account.cycles
        assert item.analytical_cycles == before.cycles
    total = sum(item.array_cycles for item in meshed.report.mesh.operators)
    convolutions = [item for item in meshed.report.mesh.operators if item.compute]
    assert len(convolutions) == 2
    assert sum(item.compute for item in convolutions) < total <= meshed.simulation.cycles


def test_the_array_waits_for_weights_or_for_the_memory_that_they_come_from(results):
    """Few outputs: loading weights takes longest, because of the memory where its rows count."""
    arch = results[1].arch

    for_memory, for_weights = (
        [item for item in _compiled(one, size=7).report.mesh.operators if item.compute]
        for one in (arch, replace(arch, dram=None))
    )

    assert len(for_memory) == len(for_weights) == 2
    for slow, quick in zip(for_memory, for_weights, strict=True):
        assert slow.dram > quick.weights > 0
        assert slow.weights == quick.dram == 0
        assert (slow.compute, slow.inputs, slow.sums) == (quick.compute, quick.inputs, quick.sums)


def test_reports_name_the_network_as_a_reason(results):
    """Where the run differs from the model, and the mesh made it longer."""
    for result, is_meshed in zip(results, (False, True), strict=True):
        reasons = [reason for item in result.report.operators for reason in item.reasons]
        assert any(reason.cause is Cause.NETWORK for reason in reasons) == is_meshed


def test_the_page_has_a_heat_map_where_there_was_a_mesh(results):
    plain, meshed = (html_report(one.report, one.module, one.simulation) for one in results)
    assert 'id="mesh"' not in plain
    section = meshed.split('id="mesh"')[1].split("</section>")[0]
    routers = section.split("<tbody>")[1].split("</tbody>")[0]
    assert (routers.count("<tr>"), routers.count("<td>")) == (4, 16)
    assert routers.count("<div") == len(results[1].report.mesh.links)
    for item in results[1].report.mesh.operators:
        assert f'<td class="n">{item.cycles:,}</td>' in section


def test_every_flit_of_a_hop_is_priced(results):
    """The energy of the network is that of hops times flits; without a price there is none."""
    _, free = results
    arch = free.arch
    pe, *inner = arch.fanouts
    priced = replace(arch, fanouts=(replace(pe, hop_energy=0.5), *inner))

    found = _compiled(priced)

    mesh = found.report.mesh
    assert mesh.hop_flits == sum(link.flits for link in mesh.links) > 0
    assert mesh.network_pj == pytest.approx(mesh.hop_flits * 8 * 0.5)
    assert found.simulation.total.energy.network == pytest.approx(mesh.network_pj)
    assert free.report.mesh.network_pj == free.simulation.total.energy.network == 0
    for link in mesh.links:
        (column, row), (to, below) = link.begin, link.end
        assert abs(column - to) + abs(row - below) == 1
        assert 0 < link.flits <= mesh.cycles  # a flit per cycle
    assert "busiest link" in mesh_line(mesh)


def test_the_off_chip_memory_is_priced_by_its_commands(results):
    """Rows and bursts at the prices of the file; what has none costs what its level says."""
    plain, meshed = results
    dram, memory = meshed.arch.dram, meshed.report.mesh.memory
    read = sum(item.read for item in meshed.simulation.total.off_chip)
    written = sum(item.written for item in meshed.simulation.total.off_chip)

    assert memory.read_bursts * dram.burst_bytes >= read > 0
    assert memory.written_bursts * dram.burst_bytes >= written > 0
    assert 0 < memory.rows <= memory.read_bursts + memory.written_bursts
    assert memory.activate_pj == memory.rows * dram.activate_pj
    assert memory.pj == pytest.approx(
        memory.rows * dram.activate_pj
        + memory.read_bursts * dram.read_pj
        + memory.written_bursts * dram.write_pj
    )
    assert _off_chip_pj(meshed) == pytest.approx(memory.pj)
    accounts = (*meshed.simulation.operators, meshed.simulation.overhead)
    levels = [item for account in accounts for item in account.energy.levels]
    by_operator = sum(item.pj for item in levels if item.level == meshed.arch.off_chip.name)
    assert by_operator == pytest.approx(memory.pj)
    assert "opened rows; rows" in memory_line(memory)

    free = replace(dram, activate_pj=0.0, read_pj=0.0, write_pj=0.0)
    unpriced = _compiled(replace(meshed.arch, dram=free))
    assert unpriced.report.mesh.memory.rows == memory.rows
    assert _off_chip_pj(unpriced) == pytest.approx(_off_chip_pj(plain))
    assert memory_line(unpriced.report.mesh.memory).endswith("opened rows")
    no_table = _compiled(replace(meshed.arch, dram=None))
    assert no_table.report.mesh.memory is None


def _off_chip_pj(result):
    parts = {item.part: item.pj for item in result.report.totals.energy}
    assert sum(parts.values()) == pytest.approx(result.report.totals.energy_pj)
    return parts[result.arch.off_chip.name]


def test_instructions_take_no_longer_together_than_one_after_the_other(results):
    mesh = results[1].report.mesh
    assert mesh.analytical_cycles < mesh.cycles <= mesh.serial_cycles
