"""The account of a run over the mesh adds up, and prices what crossed."""

from dataclasses import replace

import numpy as np
import pytest

from accnn.compiler.driver import compile
from accnn.compiler.execute import QUICK
from accnn.compiler.report.html.page import html_report
from accnn.compiler.report.mesh_table import mesh_line
from accnn.runtime_sim.timing.events import TimingModel

from ...onnx_rows import convolutions_in_a_row


@pytest.fixture(scope="module")
def results():
    """Return the same network, timed both ways."""
    model = convolutions_in_a_row((8, 16, 3, 1), (16, 32, 1, 1))
    options = replace(QUICK, verify="outputs")
    return [
        compile(model, arch="simba", options=replace(options, timing=timing))
        for timing in TimingModel
    ]


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
    model = convolutions_in_a_row((8, 16, 3, 1), (16, 32, 1, 1))
    options = replace(QUICK, verify="outputs", timing=TimingModel.NETWORK)

    found = compile(model, arch=priced, options=options)

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
