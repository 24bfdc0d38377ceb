"""What an order of loops multiplies, against the cost of nests."""

import numpy as np

from accnn.passes.mapping.search.kernel.costs import Costs, FlowBits, FlowPrices, add_costs

FLOWS = FlowPrices(
    words=np.array([8.0, 16.0, 8.0]),
    energies=np.array([0.5, 3.0, 7.0]),
    loads=np.array([[0.25, 0.0], [0.0, 0.5], [0.125, 1.0]]),
    at_macs=np.array([True, False, False]),
    boundary=np.array([1, 0, 0]),
    operand=np.array([0, 1, 1]),
    place=np.array([-1, 1, 1]),
)
"""One flow at the array, and two over one boundary."""


def test_flows_of_one_boundary_are_added_up_and_those_of_the_array_stand_for_themselves():
    numbers = np.array([[5, 2, 3], [-1, 7, 0], [4, 6, 9], [-2, 1, 0]], np.int64)
    bits = FlowBits(*(np.ascontiguousarray(item[:, None]) for item in numbers))
    visits, tiles = np.array([[11], [100]]), np.array([[3], [10]])
    shapes = ((3, 2), (3, 2), (2,), (2, 3, 2), (2, 3, 2))
    found = Costs(*(np.zeros(shape) for shape in shapes))

    fixed = add_costs(FLOWS, bits, visits, tiles, 1.5, found)

    assert fixed == 1.5 + (5 * 100 - 1 * 10) / 8 * 0.5
    assert found.port_fixed.tolist() == [(4 * 100 - 2 * 10) * 0.25, 0.0]
    expected = np.zeros((3, 2))
    expected[1, 1] = 2 / 16 * 3.0 + 3 / 8 * 7.0
    assert found.per_visit.tolist() == expected.tolist()
    expected[1, 1] = 7 / 16 * 3.0
    assert found.per_tile.tolist() == expected.tolist()
    assert found.port_visit[:, 1, 1].tolist() == [9 * 0.125, 6 * 0.5 + 9 * 1.0]
    assert found.port_tile[:, 1, 1].tolist() == [0.0, 0.5]
    assert np.count_nonzero(found.port_visit) + np.count_nonzero(found.port_tile) == 3
