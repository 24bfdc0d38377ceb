"""An instruction of its own for ``-x``, which a function of ``activate`` computes today."""

from tests.end_to_end.changes.change import Change, Edit

_CLASS = '''@dataclass(frozen=True, slots=True, kw_only=True)
class Negate(Instruction):
    """``dst = -src`` in float32.

    Attributes:
        dst: Output elements.
        src: Input elements.
        shape: Extents.
    """

    dst: Access
    src: Access
    shape: tuple[int, ...]


AnyInstruction: TypeAlias = (
    Negate
    | Sync
'''

_RUN = """def _negate(port: QueuePort, instruction: Negate) -> None:
    port.target(instruction.dst, instruction.shape, F32)[...] = -port.view(
        instruction.src, instruction.shape, F32
    )


_TABLE: Mapping[type[Instruction], Callable[[QueuePort, Any], None]] = {
    Negate: _negate,
"""

_SELECT = """def _function(site: SelectionSite) -> AnyInstruction:
    shape, dst, (source,) = _loops(site)
    if site.op.kind == "neg":
        return Negate(dst=dst, src=source, shape=shape)
"""


def prove() -> None:
    """Run a network with the instruction, and write and read its program in every form."""
    import numpy as np

    from accnn.backend.binary.encode import decode, encode
    from accnn.ir.graph import Graph, Value
    from accnn.ir.isa import instructions as isa
    from accnn.ir.ops import make_op
    from accnn.ir.text.parser import parse_program
    from accnn.ir.text.printing.program import print_program
    from accnn.ir.types import DType, TensorType
    from tests.flow import compile_graph
    from tests.timed import program_cycles

    kind = TensorType(DType.F32, (3, 40))
    ops = (make_op("neg", ("x",), {"x": kind}, "y"),)
    graph = Graph(name="net", inputs=(Value("x", kind),), constants=(), ops=ops, outputs=("y",))
    compiled = compile_graph(graph, {}, "edge-fp32")
    made = [
        instruction
        for queue in compiled.program.queues
        for instruction in queue.instructions
        if isinstance(instruction, isa.Negate)
    ]

    assert made
    result = compiled.run()
    assert compiled.wrong(result) == []
    assert np.any(compiled.expected["y"] < 0)
    assert decode(encode(compiled.program)) == compiled.program
    assert parse_program("".join(print_program(compiled.program))) == compiled.program
    schedule = compiled.module.tile_schedule
    assert schedule is not None
    assert schedule.cycles == program_cycles(compiled.program)


CHANGE = Change(
    row="an instruction",
    edits=(
        Edit("ir/isa/instructions.py", "AnyInstruction: TypeAlias = (\n    Sync\n", _CLASS),
        Edit(
            "ir/isa/instructions.py",
            "    Sync: frozenset(Unit),\n",
            "    Negate: frozenset({Unit.VX}),\n    Sync: frozenset(Unit),\n",
        ),
        Edit(
            "backend/binary/instruction_table.py",
            "    isa.Gather: 0x3B,\n",
            "    isa.Gather: 0x3B,\n    isa.Negate: 0x3E,\n",
        ),
        Edit(
            "backend/lowering/select_vector.py",
            "    Lookup,\n    Pool,\n",
            "    Lookup,\n    Negate,\n    Pool,\n",
        ),
        Edit(
            "backend/lowering/select_vector.py",
            "def _function(site: SelectionSite) -> Activate:\n"
            "    shape, dst, (source,) = _loops(site)\n",
            _SELECT,
        ),
        Edit(
            "runtime_sim/functional/execute.py",
            "    Mac,\n    Pool,\n",
            "    Mac,\n    Negate,\n    Pool,\n",
        ),
        Edit(
            "runtime_sim/functional/execute.py",
            "_TABLE: Mapping[type[Instruction], Callable[[QueuePort, Any], None]] = {\n",
            _RUN,
        ),
        Edit(
            "runtime_sim/accesses.py", "    Mac,\n    Pool,\n", "    Mac,\n    Negate,\n    Pool,\n"
        ),
        Edit(
            "runtime_sim/accesses.py",
            "        case Gather():\n",
            "        case Negate():\n"
            "            return _elementwise(instruction, (instruction.src,), 4, 4)\n"
            "        case Gather():\n",
        ),
    ),
    proof=prove,
)
