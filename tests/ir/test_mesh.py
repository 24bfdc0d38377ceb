"""Who stands where, and which links a packet crosses."""

from dataclasses import replace

import pytest

from accnn.backend.load import load_architecture
from accnn.ir.arch import MeshNetwork
from accnn.ir.errors import ArchitectureError
from accnn.ir.mesh import Mesh, mesh_of

MESH = Mesh(
    MeshNetwork(
        fanout="pe",
        columns=3,
        rows=2,
        scratchpad_ports=((0, 0), (0, 1)),
        off_chip_ports=((2, 1),),
    )
)


def test_children_stand_row_by_row_before_the_ports() -> None:
    assert MESH.positions[:6] == ((0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1))
    assert [MESH.positions[node] for node in MESH.scratchpad_nodes] == [(0, 0), (0, 1)]
    assert [MESH.positions[node] for node in MESH.off_chip_nodes] == [(2, 1)]


def test_a_way_has_a_link_per_hop_and_two_of_its_ends() -> None:
    for source in range(9):
        for node in range(9):
            tree = MESH.tree(source, (node,))

            assert len(tree.links) == MESH.hops(source, node) + 2
            assert tree.parents == tuple(range(-1, len(tree.links) - 1))
            assert (tree.links[0], tree.links[-1]) == (MESH.link_in(source), MESH.link_out(node))


def test_links_join_routers_on_the_way() -> None:
    for source in range(9):
        for node in range(9):
            at = MESH.positions[source]
            for link in MESH.tree(source, (node,)).links[1:-1]:
                begin, end = MESH.ends(link)
                assert MESH.is_between(link) and begin == at
                assert MESH.link_name(link) == f"from {at[0]},{at[1]} to {end[0]},{end[1]}"
                at = end
            assert at == MESH.positions[node]


def test_ways_go_along_the_row_first() -> None:
    there, back = MESH.tree(0, (5,)), MESH.tree(5, (0,))

    assert set(there.links[1:3]) == set(MESH.tree(0, (2,)).links[1:3])
    assert set(back.links[1:3]) == set(MESH.tree(5, (3,)).links[1:3])


def test_a_tree_has_every_link_once_behind_its_parent() -> None:
    tree = MESH.tree(6, (0, 1, 2, 3, 4, 5))

    # out of the port, two along the row, one along each column, six into nodes
    assert len(tree.links) == len(set(tree.links)) == 1 + 2 + 3 + 6
    assert all(parent < place for place, parent in enumerate(tree.parents))
    assert sum(map(MESH.is_out, tree.links)) == 6


def test_links_have_numbers_of_their_own() -> None:
    ways = [MESH.tree(source, (node,)).links for source in range(9) for node in range(9)]

    assert len({link for way in ways for link in way}) == 9 + 9 + 2 * (2 * 2 + 3)
    assert max(link for way in ways for link in way) < MESH.links


def test_a_larger_array_is_a_machine_whose_network_cannot_be_used() -> None:
    simba = load_architecture("simba")
    sizes = tuple(replace(item, size=32) if item.name == "pe" else item for item in simba.fanouts)
    larger = replace(simba, fanouts=sizes)

    larger.verify()

    assert mesh_of(simba).network is simba.network
    with pytest.raises(ArchitectureError, match="4 x 4 routers for 32 pe"):
        mesh_of(larger)
    with pytest.raises(ArchitectureError, match="eyeriss has no network"):
        mesh_of(load_architecture("eyeriss"))
