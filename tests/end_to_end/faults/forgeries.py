"""Schedules, plans and programs that are wrong, each in one way: verifiers must refuse them all.

Most are those of the verifiers' own tests, so that a verifier with a fault in it is shown what it
was made for.
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from accnn.ir.errors import VerifyError
from tests.compiler.sections import case_of, jumping, quantised
from tests.compiler.verification import test_section_verdict as section_tests
from tests.compiler.verification import test_translation as translation_tests
from tests.ir.isa.test_program_checks import (
    test_an_instruction_that_contradicts_its_descriptor_is_refused as contradiction,
)
from tests.ir.isa.test_program_checks import (
    test_spaces_are_those_of_the_machine as space_of_another_size,
)
from tests.ir.tiles import test_occupancy as occupancy_tests
from tests.ir.tiles.test_schedule import DAMAGE, schedule
from tests.passes.scheduling import test_check as check_tests
from tests.passes.scheduling import test_in_order as plan_tests
from tests.programs import convolution
from tests.runtime_sim import test_visibility as visibility_tests
from tests.runtime_sim.array import test_tiles as tile_tests
from tests.runtime_sim.checks import test_races as race_tests
from tests.runtime_sim.checks import test_written as written_tests


def schedules() -> None:
    """A valid schedule passes, and so do its neighbours that just touch; damaged ones do not."""
    schedule().verify()
    for damaged, message in DAMAGE.values():
        with pytest.raises(VerifyError, match=message):
            damaged().verify()
    occupancy_tests.test_a_resident_tensor_may_be_written_over_element_by_element()
    occupancy_tests.test_not_before_all_that_reads_it_is_done()
    occupancy_tests.test_nor_while_another_event_reads_it()
    occupancy_tests.test_nor_by_elements_of_another_size()


def plans() -> None:
    """Plans of the scratchpad."""
    for test in (
        plan_tests.test_the_checker_refuses_an_order_against_dependences,
        plan_tests.test_the_checker_refuses_a_tensor_that_is_nowhere,
        plan_tests.test_the_checker_refuses_a_residence_out_of_nothing,
        plan_tests.test_the_checker_refuses_an_output_that_stays,
        plan_tests.test_the_checker_refuses_streams_without_a_workspace,
        plan_tests.test_the_checker_refuses_a_budget_beyond_the_machine,
        plan_tests.test_the_checker_refuses_overlap,
        check_tests.test_a_sum_may_be_written_over_either_operand,
        check_tests.test_a_maximum_over_windows_may_not,
        check_tests.test_nor_a_group_that_reads_it_in_windows_too,
        check_tests.test_what_was_written_over_can_be_neither_spilled_nor_stored,
    ):
        test()


def programs() -> None:
    """Programs whose tiles do not fit the instances, or that read what nothing has written."""
    for space in written_tests.ON_CHIP:
        written_tests.test_a_byte_too_much_is_caught_in_every_memory(space)
    for test in (
        written_tests.test_what_is_skipped_by_strides_is_not_read,
        written_tests.test_off_chip_only_inputs_and_constants_are_there,
        written_tests.test_a_read_that_was_right_may_be_wrong_elsewhere,
        tile_tests.test_what_fits_runs,
        tile_tests.test_weights_that_several_lanes_hold_count_in_each_of_them,
        tile_tests.test_a_copy_of_weights_displaces_a_tile_that_no_address_of_its_own_meets,
        tile_tests.test_a_tile_begins_in_the_first_lane,
        tile_tests.test_sums_count_in_every_lane,
        tile_tests.test_memories_inside_hold_one_tile_or_two_halves,
        tile_tests.test_a_layout_that_says_less_than_the_loops_is_found_out,
        visibility_tests.test_operands_are_read_at_the_start,
        visibility_tests.test_what_a_queue_sees_is_hidden_again_after_an_error,
    ):
        test()
    for case in cases(visibility_tests.test_a_result_is_seen_from_its_retirement_on):
        case()
    _descriptors()
    _translations()


def _translations() -> None:
    """Programs that are not what was scheduled."""
    for name in translation_tests.FORGERIES:
        translation_tests.test_one_instruction_that_is_another_is_found(name, 0)
    for test in (
        translation_tests.test_elements_in_another_order_are_found,
        translation_tests.test_what_no_event_asks_for_is_found,
        translation_tests.test_sums_that_come_back_are_those_that_left,
        translation_tests.test_copies_to_be_looked_at_are_not_read,
    ):
        test()


def cases(test: Callable[..., None], *first: object) -> Iterator[Callable[[], None]]:
    """Yield the cases of a parametrised test, with what stands before the parameters."""
    (mark,) = test.pytestmark
    for values in mark.args[1]:
        yield partial(test, *first, *(values if isinstance(values, tuple) else (values,)))


def _descriptors() -> None:
    """Programs that contradict their machine or their descriptors."""
    built = convolution(2)[0]
    for space in written_tests.ON_CHIP:
        space_of_another_size(built, space)
    for case in cases(contradiction, built):
        case()


def races() -> None:
    """Random programs, with races and without; what is one is told by the definition."""

    @seed(1)
    @settings(
        max_examples=150,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    @given(race_tests.programs(), st.none() | st.integers(0, 5), st.sampled_from([1, 256]))
    def every(built, interleaving, forget_every):
        check = race_tests.test_a_race_is_found_if_and_only_if_there_is_one
        check.hypothesis.inner_test(built, interleaving, forget_every)

    every()


def sections() -> None:
    """Tensors that no right program makes where floats become integers, and their neighbours."""
    with TemporaryDirectory() as folder:
        softmax = case_of(quantised("Softmax", Path(folder) / "net.onnx"))
        remainder = case_of(jumping(Path(folder) / "jump.onnx"), arch="edge-fp32")
    for test in (
        section_tests.test_the_right_tensors_are_verified,
        section_tests.test_the_other_side_of_a_tie_is_right_too,
        section_tests.test_a_fault_behind_a_cut_is_wrong,
    ):
        test(softmax)
    section_tests.test_either_side_of_a_jump_is_right(remainder)
    section_tests.test_a_float_in_front_of_a_jump_is_held_to_its_tolerance(remainder)
    for case in cases(section_tests.test_another_integer_is_wrong, softmax):
        case()
