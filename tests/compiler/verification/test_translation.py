"""Programs against the tile schedules that they come from: right ones pass, forged ones do not."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache

import pytest

from accnn.backend.lowering.lower import lower
from accnn.compiler.verification.observe import observed
from accnn.compiler.verification.translation import check_translation
from accnn.ir.errors import VerifyError
from accnn.ir.graph_schedule import Group
from accnn.ir.isa.instructions import (
    AnyInstruction,
    Copy,
    Halt,
    Mac,
    QBinary,
    Requant,
    RequantPair,
    Space,
    Sync,
    Unit,
)
from accnn.ir.isa.program import Program
from accnn.ir.module import Module
from accnn.ir.tiles.events import EventKind
from accnn.ir.tiles.graph import Range
from accnn.ir.workload import DIMS, Dim
from tests.end_to_end.faults.networks import CASES, Case, joined, scheduled
from tests.passes.tiling.groups.fused import (
    attention,
    bottleneck,
    compile_fused,
    rolling,
    windows,
)
from tests.tiles import tiles_of


@cache
def program_of(case: Case) -> Program:
    return lower(scheduled(case)).program


def check(module: Module, program: Program) -> None:
    assert module.tile_schedule is not None
    check_translation(module.graph, module.tile_schedule, program)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("form", [scheduled, joined, lambda case: observed(scheduled(case))])
def test_what_is_lowered_is_what_was_scheduled(case, form):
    module = form(case)

    check(module, lower(module).program)


@pytest.mark.parametrize("around", [(2,), (1, 2), (3,)])
def test_matrices_of_a_batch_are_as_far_apart_as_they_were_scheduled(around):
    graph, data = attention(around=around)
    members = tuple(op.name for op in graph.ops)

    module = compile_fused(graph, data, "simba", (Group(members=members, rows=0),)).module

    program = lower(module).program
    together = {
        item.extents[-1]
        for queue in program.queues
        for item in queue.instructions
        if isinstance(item, Mac)
    }
    assert max(together) > 1
    check(module, program)


Change = Callable[[AnyInstruction], AnyInstruction]
HALOS, DEEP = CASES[0], CASES[3]


def forged(
    program: Program, kind: type, change: Change, number: int = 0, unit: Unit | None = None
) -> Program:
    """Return a program of which one instruction of a kind is another one."""
    queues, left = list(program.queues), number
    for place, queue in enumerate(queues):
        for position, item in enumerate(queue.instructions):
            if not isinstance(item, kind) or unit not in (None, queue.unit):
                continue
            if left:
                left -= 1
                continue
            made = (
                *queue.instructions[:position],
                change(item),
                *queue.instructions[position + 1 :],
            )
            queues[place] = replace(queue, instructions=made)
            return replace(program, queues=tuple(queues))
    raise AssertionError(f"there is no such {kind.__name__}")


def moved(field: str, by: int = 1, **others: int) -> Change:
    """Return what moves an access."""

    def change(item: AnyInstruction) -> AnyInstruction:
        access = getattr(item, field)
        return replace(item, **{field: replace(access, address=access.address + by, **others)})

    return change


def turned(field: str) -> Change:
    """Return what swaps the two innermost strides of an access that differ."""

    def change(item: AnyInstruction) -> AnyInstruction:
        access = getattr(item, field)
        *outer, left, right = access.strides
        return replace(item, **{field: replace(access, strides=(*outer, right, left))})

    return change


def slid(**by: int) -> Change:
    """Return what changes fields of a window."""

    def change(item: AnyInstruction) -> AnyInstruction:
        assert isinstance(item, Mac)
        fields = {name: getattr(item.window, name) + step for name, step in by.items()}
        return replace(item, window=replace(item.window, **fields))

    return change


def sized(item: AnyInstruction) -> AnyInstruction:
    assert isinstance(item, Mac)
    R, S, P, Q, C, K, N, G = item.extents
    return replace(item, extents=(R, S, P, Q, C, K + 1, N, G))


def shorter(item: AnyInstruction) -> AnyInstruction:
    assert isinstance(item, Copy | Requant | QBinary)
    least = max(range(len(item.shape)), key=item.shape.__getitem__)
    shape = tuple(n - (axis == least) for axis, n in enumerate(item.shape))
    return replace(item, shape=shape)


FORGERIES = {
    "another byte of a tensor": (Copy, moved("src"), "begins|on chip"),
    "another place on chip": (Copy, moved("dst"), "on chip begins at"),
    "far away": (Copy, moved("src", 10**9), "nothing lies off chip|on chip"),
    "a byte too few": (Copy, shorter, "moves"),
    "for another operator": (
        Copy,
        lambda item: replace(item, op=item.op + 1),
        "works for operator",
    ),
    "nothing instead": (Copy, lambda item: Sync(op=item.op), "moves no tile"),
    "another layout": (
        Copy,
        lambda item: replace(item, layout=item.layout + 1),
        "has layout 0, not -1",
    ),
    "sums not begun": (
        Mac,
        lambda item: replace(item, accumulate=not item.accumulate),
        "adds to what",
    ),
    "one channel more": (Mac, sized, "runs over"),
    "another nest": (Mac, lambda item: replace(item, nest=item.nest + 1), "nest"),
    "other sums": (Mac, moved("acc"), "adds to"),
    "other weights": (Mac, moved("w"), "reads weights"),
    "other inputs": (Mac, moved("x"), "reads"),
    "rows further up": (Mac, slid(top=1), "lines|reads"),
    "rows further down": (Mac, slid(top=-1), "lines|reads"),
    "columns further left": (Mac, slid(left=1), "lines|reads"),
    "a row too many": (Mac, slid(rows=1), "lines"),
    "a row too few": (Mac, slid(rows=-1), "lines"),
    "a column too few": (Mac, slid(columns=-1), "lines"),
    "another tile of sums": (Mac, lambda item: replace(item, tile=item.tile + 1), "tile of sums"),
    "results elsewhere": (Requant, moved("dst"), "writes from"),
    "other sums finished": (Requant, moved("acc"), "finishes from"),
    "a result too few": (Requant, shorter, "writes"),
    "one operand twice": (QBinary, lambda item: replace(item, b=item.a), "does not read tile"),
    "an operand elsewhere": (QBinary, moved("a", 10**6), "it reads"),
    "another sum": (QBinary, shorter, "writes"),
}


@pytest.mark.parametrize("name", FORGERIES)
@pytest.mark.parametrize("number", [0, 3])
def test_one_instruction_that_is_another_is_found(name, number):
    kind, change, message = FORGERIES[name]
    number = 0 if kind is QBinary else number
    program = forged(program_of(HALOS), kind, change, number)

    with pytest.raises(VerifyError, match=message):
        check(scheduled(HALOS), program)


def test_what_is_wrong_comes_before_what_is_right():
    seen: list[int] = []

    def for_another(item: AnyInstruction) -> AnyInstruction:
        seen.append(item.op)
        return replace(item, op=item.op + 1)

    program = forged(program_of(HALOS), Copy, for_another)

    with pytest.raises(VerifyError, match=f"it works for operator {seen[0] + 1}, not {seen[0]}"):
        check(scheduled(HALOS), program)


@pytest.mark.parametrize(
    ("case", "field", "dim"), [(DEEP, "stride", Dim.P), (CASES[6], "dilation", Dim.R)]
)
def test_two_rows_are_as_far_apart_as_the_operator_has_them(case, field, dim):
    program = program_of(case)
    macs = [
        item for queue in program.queues for item in queue.instructions if isinstance(item, Mac)
    ]
    number = [dict(zip(DIMS, item.extents, strict=True))[dim] for item in macs].index(2)

    def apart(item: AnyInstruction) -> AnyInstruction:
        assert isinstance(item, Mac)
        rows, columns = getattr(item.window, field)
        return replace(item, window=replace(item.window, **{field: (rows + 1, columns)}))

    with pytest.raises(VerifyError, match="its windows move by"):
        check(scheduled(case), forged(program, Mac, apart, number))


def test_the_byte_behind_the_last_tensor_is_of_none():
    program = program_of(HALOS)
    last = max(program.symbols, key=lambda item: item.address)

    def behind(item: AnyInstruction) -> AnyInstruction:
        assert isinstance(item, Copy)
        end = last.address + last.type.bytes
        return replace(item, src=replace(item.src, address=end))

    with pytest.raises(VerifyError, match="nothing lies off chip at"):
        check(scheduled(HALOS), forged(program, Copy, behind))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (moved("other", 10**6), "it reads"),
        (moved("dst"), "writes from"),
        (moved("acc"), "finishes from"),
        (lambda item: replace(item, other=item.dst), "it reads|does not read tile"),
    ],
)
def test_sums_that_are_combined_with_something_else_are_found(change, message):
    graph, data = bottleneck()
    compiled = compile_fused(graph, data, "simba", (Group(members=("a", "b", "c", "y"), rows=3),))
    program = compiled.module.program
    assert program is not None

    check(compiled.module, program)
    with pytest.raises(VerifyError, match=message):
        check(compiled.module, forged(program, RequantPair, change))


@pytest.mark.parametrize("unit", [Unit.MX, Unit.VX])
@pytest.mark.parametrize("by", [(1, 0), (0, -1), (1, 1)])
def test_rows_that_are_read_of_lines_that_roll_are_those_that_are_said(
    unit: Unit, by: tuple[int, int]
):
    """The array reads them with a filter, the vector unit with windows that overlap."""
    module = rolling(bottleneck if unit is Unit.MX else windows)
    program = lower(module).program
    check(module, program)
    schedule = tiles_of(module)
    ops = list(schedule.graph.ops)
    reading = [number for number, op in enumerate(ops) if op.rows and op.unit is unit]
    number = reading[len(reading) // 2]
    (rows,) = ops[number].rows

    said = Range(rows.start + by[0], rows.stop + by[1])
    ops[number] = replace(ops[number], rows=(said,))
    other = replace(schedule, graph=replace(schedule.graph, ops=tuple(ops)))

    with pytest.raises(VerifyError, match="it (reads|begins and ends with) rows"):
        check(replace(module, tile_schedule=other), program)


def test_elements_in_another_order_are_found():
    def crosses(item: AnyInstruction) -> bool:
        return isinstance(item, Copy) and len(item.shape) > 1

    places = [crosses(item) for item in _of_kind(program_of(HALOS), Copy)]
    program = forged(program_of(HALOS), Copy, turned("src"), places.index(True))

    with pytest.raises(VerifyError, match="moves"):
        check(scheduled(HALOS), program)


def _of_kind(program: Program, kind: type) -> Iterator[AnyInstruction]:
    for queue in program.queues:
        yield from (item for item in queue.instructions if isinstance(item, kind))


@pytest.mark.parametrize("place", [0, 5, -2])
def test_nothing_may_be_missing_or_stand_twice(place):
    program = program_of(DEEP)
    for number, queue in enumerate(program.queues):
        items = list(queue.instructions)
        if len(items) < 8:
            continue
        for made in (
            items[:place] + items[place:][1:],
            [*items[:place], items[place], *items[place:]],
        ):
            queues = list(program.queues)
            queues[number] = replace(queue, instructions=tuple(made))
            with pytest.raises(VerifyError):
                check(scheduled(DEEP), replace(program, queues=tuple(queues)))


def test_what_no_event_asks_for_is_found():
    program = program_of(DEEP)
    queue = program.queues[0]
    extra = replace(queue, instructions=(*queue.instructions[:-1], Sync(op=0), Halt()))

    with pytest.raises(VerifyError, match="is no event"):
        check(scheduled(DEEP), replace(program, queues=(extra, *program.queues[1:])))


def test_a_transfer_of_another_tensor_is_called_by_both_names():
    program = program_of(HALOS)
    copies = [item.src for item in _of_kind(program, Copy)]
    names = {item.address: item.name for item in program.symbols}
    first = next(
        number
        for number, src in enumerate(copies)
        if src.space is Space.DRAM and src.address in names
    )
    of = names[copies[first].address]
    address, other = next((at, name) for at, name in names.items() if name != of)

    with pytest.raises(VerifyError, match=f"it is a transfer of {other}, not {of}"):
        check(
            scheduled(HALOS),
            forged(program, Copy, moved("src", address - copies[first].address), first),
        )


@pytest.mark.parametrize("beyond", [0, 1])
def test_nests_that_a_program_does_not_have_are_found(beyond):
    program = program_of(HALOS)
    number = len(program.nests) + beyond
    for kind, what in ((Mac, "nest"), (Copy, "layout")):
        place = [item.layout >= 0 for item in _of_kind(program, kind)].index(True)
        field = {"nest": number} if kind is Mac else {"layout": number}
        changed = forged(program, kind, lambda item, field=field: replace(item, **field), place)
        with pytest.raises(VerifyError, match=f"it has no {what}"):
            check(scheduled(HALOS), changed)


def test_the_last_layout_counted_from_behind_is_none():
    program = program_of(HALOS)
    last = len(program.nests) - 1
    place = [item.layout == last for item in _of_kind(program, Mac)].index(True)

    with pytest.raises(VerifyError, match="it has no layout"):
        check(scheduled(HALOS), forged(program, Mac, lambda item: replace(item, layout=-1), place))


def test_sums_that_come_back_are_those_that_left():
    schedule = scheduled(HALOS).tile_schedule
    assert schedule is not None
    assert any(event.kind is EventKind.RETRIEVE for event in schedule.events)
    blocks = [item for item in program_of(HALOS).symbols if ".psum" in item.name]
    assert len(blocks) > 1
    first, other = blocks[0].address, blocks[1].address

    def swapped(item: AnyInstruction) -> AnyInstruction:
        assert isinstance(item, Copy)
        return replace(item, src=replace(item.src, address=other))

    backs = [
        isinstance(item, Copy) and item.src.space is Space.DRAM and item.src.address == first
        for item in _of_kind(program_of(HALOS), Copy)
    ]
    program = forged(program_of(HALOS), Copy, swapped, backs.index(True))
    with pytest.raises(VerifyError, match="is not the block of sums"):
        check(scheduled(HALOS), program)


def test_copies_to_be_looked_at_are_not_read():
    module = observed(scheduled(CASES[1]))
    program = lower(module).program
    copy = next(item for item in program.symbols if item.name.endswith(".observed"))
    reads = [
        isinstance(item, Copy) and item.src.space is Space.DRAM for item in _of_kind(program, Copy)
    ]
    begin = lower(module).program.symbol[copy.name].address

    def misread(item: AnyInstruction) -> AnyInstruction:
        assert isinstance(item, Copy)
        return replace(item, src=replace(item.src, address=begin))

    with pytest.raises(VerifyError, match="is a transfer of"):
        check(module, forged(program, Copy, misread, reads.index(True)))
