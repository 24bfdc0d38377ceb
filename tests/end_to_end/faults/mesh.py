"""What judges the mesh: every cycle of it, the counts of nests, data sheets, and programs."""

from accnn.ir.errors import SimulationError
from tests.end_to_end.faults.forgeries import cases
from tests.ir import test_mesh as geometry_tests
from tests.runtime_sim.noc import test_dram as memory_tests
from tests.runtime_sim.noc.test_transfers import check_against_oracle
from tests.runtime_sim.timing import test_mesh_account as account_tests
from tests.runtime_sim.timing import test_over_mesh as program_tests


def transfers() -> None:
    """Ways go along the row first, and random traffic ends in the cycles that the oracle finds."""
    for seed in range(12):
        try:
            check_against_oracle(seed)
        except SimulationError as error:  # to the oracle nothing waits in a circle
            raise AssertionError(error.message) from error
    for test in (
        geometry_tests.test_links_join_routers_on_the_way,
        geometry_tests.test_ways_go_along_the_row_first,
        geometry_tests.test_a_tree_has_every_link_once_behind_its_parent,
    ):
        test()


def off_chip_memory() -> None:
    """Streams, single accesses, changes of direction and refreshes take what data sheets say."""
    memory_tests.test_a_stream_has_the_bandwidth_of_the_bus_without_refreshes(
        memory_tests.LPDDR4, memory_tests.READ
    )
    for case in cases(
        memory_tests.test_one_after_the_other_a_miss_costs_closing_and_opening_more_than_a_hit
    ):
        case()
    for test in (
        memory_tests.test_many_at_once_hide_rows_of_other_banks_but_not_of_one,
        memory_tests.test_a_change_of_direction_costs_the_turnaround,
        memory_tests.test_accesses_to_an_open_row_go_first,
        memory_tests.test_none_waits_for_ever,
        memory_tests.test_a_burst_is_not_read_again_by_who_goes_on_in_it,
        memory_tests.test_short_accesses_take_whole_bursts,
        memory_tests.test_bytes_on_both_sides_of_a_boundary_take_two_bursts,
        memory_tests.test_rows_are_opened_once_as_long_as_accesses_keep_to_them,
    ):
        test()


def programs() -> None:
    """Instructions take and carry what their nests and copies do, and all of it is accounted."""
    program = program_tests.compiled()
    for test in (
        program_tests.test_no_instruction_takes_less_over_the_mesh,
        program_tests.test_the_time_lies_between_the_lower_bound_and_the_serial_sum,
        program_tests.test_what_is_read_off_chip_crosses_the_links_of_its_ports,
        program_tests.test_a_mac_instruction_is_its_nest_over_the_mesh,
    ):
        test(program)
    results = account_tests.compiled_both_ways()
    for test in (
        account_tests.test_only_a_run_over_the_mesh_has_an_account,
        account_tests.test_the_array_computes_or_waits,
        account_tests.test_every_flit_of_a_hop_is_priced,
        account_tests.test_the_off_chip_memory_is_priced_by_its_commands,
        account_tests.test_instructions_take_no_longer_together_than_one_after_the_other,
    ):
        test(results)
