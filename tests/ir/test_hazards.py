"""Which events an event waits for."""

from accnn.ir.hazards import HazardTracker, waits_for
from accnn.ir.isa import Space

DMA, MX, VX = 0, 1, 2


def test_a_read_waits_for_the_write():
    tracker = HazardTracker()
    block = tracker.claim(Space.GB, 0, 0, 64)
    tracker.note_write(block, DMA, 1, "load")

    assert waits_for([tracker.before_read(block)], MX) == {DMA: 1}


def test_the_own_queue_is_in_order_and_needs_no_wait():
    tracker = HazardTracker()
    block = tracker.claim(Space.GB, 0, 0, 64)
    tracker.note_write(block, DMA, 1, "load")

    assert waits_for([tracker.before_read(block)], DMA) == {}


def test_a_block_in_old_room_waits_for_everything_that_touched_it():
    tracker = HazardTracker()
    old = tracker.claim(Space.GB, 0, 0, 64)
    tracker.note_write(old, DMA, 3, "load")
    tracker.note_read(old, MX, 7)

    new = tracker.claim(Space.GB, 0, 32, 64)

    assert tracker.before_write(new, "load") == {DMA: 3, MX: 7}


def test_a_block_beside_the_old_one_waits_for_nothing():
    tracker = HazardTracker()
    tracker.note_write(tracker.claim(Space.GB, 0, 0, 64), DMA, 3, "load")

    assert tracker.before_write(tracker.claim(Space.GB, 0, 64, 64), "load") == {}
    assert tracker.before_write(tracker.claim(Space.WB, 0, 0, 64), "load") == {}


def test_what_sticks_out_of_a_new_block_is_remembered():
    tracker = HazardTracker()
    tracker.note_write(tracker.claim(Space.GB, 0, 0, 96), DMA, 3, "load")
    tracker.claim(Space.GB, 0, 32, 32)

    assert tracker.before_write(tracker.claim(Space.GB, 0, 64, 8), "load") == {DMA: 3}


def test_parts_of_one_operator_do_not_wait_for_each_other():
    tracker = HazardTracker()
    block = tracker.claim(Space.GB, 0, 0, 64)
    tracker.note_write(block, MX, 1, "conv")

    assert tracker.before_write(block, "conv") == {}
    assert tracker.before_write(block, "other") == {MX: 1}


def test_another_author_waits_for_readers_and_writers():
    tracker = HazardTracker()
    block = tracker.claim(Space.DRAM, 0, 0, 64)
    tracker.note_write(block, DMA, 1, "a")
    tracker.note_read(block, VX, 4)
    tracker.note_write(block, MX, 2, "b")

    assert tracker.before_read(block) == {MX: 2}
    assert tracker.before_write(block, "b") == {DMA: 1, VX: 4}


def test_every_part_waits_for_what_the_block_inherited():
    tracker = HazardTracker()
    tracker.note_read(tracker.claim(Space.GB, 0, 0, 64), DMA, 5)
    block = tracker.claim(Space.GB, 0, 0, 64)
    tracker.note_write(block, MX, 1, "conv")

    assert tracker.before_write(block, "conv") == {DMA: 5}
