"""Events give the cycles that a simulation of every flit in every cycle gives."""

import pytest

from accnn.ir.errors import SimulationError
from accnn.ir.mesh import Mesh

from .cycle_by_cycle import Oracle, Task
from .machines import drawn, network, run


def check_against_oracle(seed):
    """Check every end of random traffic."""
    net, tasks, bandwidth = drawn(seed)

    assert run(net, tasks, bandwidth).done.tolist() == Oracle(net, tasks, bandwidth).run(), seed


@pytest.mark.parametrize("seeds", [range(at, at + 10) for at in range(0, 40, 10)], ids=str)
def test_every_transfer_ends_in_the_cycle_that_the_oracle_finds(seeds):
    for seed in seeds:
        check_against_oracle(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 1500, 50))
def test_more_of_the_same(first):
    for seed in range(first, first + 50):
        check_against_oracle(seed)


@pytest.mark.parametrize(("router", "flits"), [(1, 1), (1, 9), (3, 9)])
def test_alone_a_packet_takes_a_router_per_link_and_a_cycle_per_flit(router, flits):
    net = network(router_cycles=router)
    far = 11  # from the first router over five links, out of the first node and into the last

    arrivals = run(net, [Task(0, (far,), flits)])

    assert arrivals.done.tolist() == [6 * router + flits - 1]
    assert arrivals.crossed.sum() == 7 * flits


def test_a_link_carries_a_flit_per_cycle():
    net = network(packet_flits=8)

    done = run(net, [Task(0, (3,), 8 * 100)]).done

    assert done.tolist() == [4 + 800 - 1]


def test_with_one_buffer_a_packet_waits_until_the_one_before_has_left_it():
    net = network(packet_flits=4, buffers=1)

    done = run(net, [Task(0, (3,), 4 * 100)]).done

    assert done.tolist() == [4 + 500 - 2]  # 4 flits and a cycle of the router each


def test_two_that_share_a_link_share_its_time():
    net = network()
    tasks = [Task(0, (3,), 160), Task(1, (3,), 160)]

    assert max(run(net, tasks).done) >= 2 * 160
    assert max(run(net, [tasks[0], Task(5, (7,), 160)]).done) < 160 + 10


def test_several_destinations_cost_the_first_link_once():
    net = network()
    several, each = (1, 2, 3, 7), Mesh(net).link_in(0)

    together = run(net, [Task(0, several, 40)])
    one_by_one = run(net, [Task(0, (node,), 40) for node in several])

    assert together.crossed[each] == 40
    assert one_by_one.crossed[each] == 160
    assert together.done.max() < 40 + 20 < 160 <= one_by_one.done.max()


def test_what_waits_begins_when_all_that_it_waits_for_is_done():
    net = network()
    tasks = [Task(-1, (), 100), Task(0, (1,), 5), Task(1, (2,), 5, "", [0, 1])]

    assert run(net, tasks).done.tolist() == [99, 6, 106]


@pytest.mark.parametrize("way", ["read", "write"])
def test_the_memory_takes_as_long_as_its_bandwidth_says(way):
    net = network(packet_flits=16)
    tasks = [Task(0, (3,), 800, way), Task(4, (7,), 800, way)]

    done = run(net, tasks, 2.5).done.max()

    assert 1600 * 8 / 2.5 <= done < 1600 * 8 / 2.5 + 100
    assert run(net, tasks).done.max() < 900


def test_a_circle_is_refused():
    net = network()

    with pytest.raises(SimulationError, match="in a circle"):
        run(net, [Task(0, (1,), 5, "", [1]), Task(1, (2,), 5, "", [0])])
