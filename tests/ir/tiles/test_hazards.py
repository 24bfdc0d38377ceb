"""Which events an event waits for."""

from accnn.ir.isa.instructions import Space
from accnn.ir.tiles.hazards import HazardTracker, waits_for

DMA, MX, VX = 0, 1, 2


def test_a_read_waits_for_the_write():
    tracker = HazardTracker()
    block = tracker.claim(Space.GB, 0, 0, 64)
    block.note_write(DMA, 1, "load")

    assert waits_for([block.before_read()], MX) == {DMA: 1}


def test_the_own_queue_is_in_order_and_needs_no_wait():
    tracker = HazardTracker()
    block = tracker.claim(Space.GB, 0, 0, 64)
    block.note_write(DMA, 1, "load")

    assert waits_for([block.before_read()], DMA) == {}


def test_a_block_in_old_room_waits_for_everything_that_touched_it():
    tracker = HazardTracker()
    old = tracker.claim(Space.GB, 0, 0, 64)
    old.note_write(DMA, 3, "load")
    old.note_read(MX, 7)

    new = tracker.claim(Space.GB, 0, 32, 64)

    assert new.before_write("load") == {DMA: 3, MX: 7}


def test_a_block_beside_the_old_one_waits_for_nothing():
    tracker = HazardTracker()
    tracker.claim(Space.GB, 0, 0, 64).note_write(DMA, 3, "load")

    assert tracker.claim(Space.GB, 0, 64, 64).before_write("load") == {}
    assert tracker.claim(Space.WB, 0, 0, 64).before_write("load") == {}


def test_what_sticks_out_of_a_new_block_is_remembered():
    tracker = HazardTracker()
    tracker.claim(Space.GB, 0, 0, 96).note_write(DMA, 3, "load")
    tracker.claim(Space.GB, 0, 32, 32)

    assert tracker.claim(Space.GB, 0, 64, 8).before_write("load") == {DMA: 3}


def test_parts_of_one_operator_do_not_wait_for_each_other():
    tracker = HazardTracker()
    block = tracker.claim(Space.GB, 0, 0, 64)
    block.note_write(MX, 1, "conv")

    assert block.before_write("conv") == {}
    assert block.before_write("other") == {MX: 1}


def test_another_author_waits_for_readers_and_writers():
    tracker = HazardTracker()
    block = tracker.claim(Space.DRAM, 0, 0, 64)
    block.note_write(DMA, 1, "a")
    block.note_read(VX, 4)
    block.note_write(MX, 2, "b")

    assert block.before_read() == {MX: 2}
    assert block.before_write("b") == {DMA: 1, VX: 4}


def test_a_new_row_waits_for_all_that_touched_the_one_whose_place_it_takes():
    block = HazardTracker().claim(Space.GB, 0, 0, 64, rolls=3)
    for row in range(4):
        block.note_write(VX, row + 1, "a", (row,))
    block.note_read(MX, 7, (0, 1))
    block.note_read(MX, 9, (1, 2))

    assert block.before_read((1, 2)) == {VX: 3}
    assert block.before_write("a", (3,)) == {VX: 1, MX: 7}
    assert block.before_write("b", (4, 5)) == {VX: 3, MX: 9}
    assert block.before_write("b", (1, 2)) == {}
    assert block.before_write("a", (6,)) == {VX: 4}


def test_rows_wait_for_what_their_block_inherited():
    tracker = HazardTracker()
    tracker.claim(Space.GB, 0, 0, 64).note_read(DMA, 5)
    block = tracker.claim(Space.GB, 0, 0, 64, rolls=3)

    assert block.before_write("a", (0,)) == {DMA: 5}
    block.note_write(VX, 1, "a", (0,))
    assert block.before_write("a", (1,)) == {DMA: 5}
    assert block.before_read((0,)) == {VX: 1}


def test_every_part_waits_for_what_the_block_inherited():
    tracker = HazardTracker()
    tracker.claim(Space.GB, 0, 0, 64).note_read(DMA, 5)
    block = tracker.claim(Space.GB, 0, 0, 64)
    block.note_write(MX, 1, "conv")

    assert block.before_write("conv") == {DMA: 5}


def test_a_read_of_a_tensor_waits_for_the_cells_that_it_meets():
    block = HazardTracker().claim(Space.GB, 0, 0, 64)
    block.note_write(MX, 1, "conv", (0,))
    block.note_write(VX, 2, "conv", (1, 2))

    assert block.before_read((0,)) == {MX: 1}
    assert block.before_read((0, 2)) == {MX: 1, VX: 2}


def test_a_cell_nobody_wrote_waits_for_what_lay_there():
    tracker = HazardTracker()
    tracker.claim(Space.GB, 0, 0, 64).note_read(DMA, 5)
    block = tracker.claim(Space.GB, 0, 0, 64)
    block.note_write(MX, 1, "conv", (0,))

    assert block.before_read((1,)) == {DMA: 5}
    assert block.before_write("conv", (1,)) == {DMA: 5}
