"""A key of the architecture file: the area of a memory."""

from tests.end_to_end.changes.change import Change, Edit


def prove() -> None:
    """The key is read, checked, written in every form, and part of what results are kept under."""
    from dataclasses import replace

    import pytest

    from accnn.backend.arch_tables import dump_architecture
    from accnn.backend.load import load_architecture, parse_architecture
    from accnn.ir.arch import Architecture
    from accnn.ir.codec.json_codec import dump_json, parse_json
    from accnn.ir.errors import ArchitectureError
    from accnn.ir.graph import Graph
    from accnn.ir.module import Module
    from accnn.ir.text.parser import parse_module
    from accnn.ir.text.printer import print_module

    text = dump_architecture(load_architecture("simba"))
    found = parse_architecture(text.replace("area = 0.0", "area = 2.5", 1), file="mine.toml")

    assert found.levels[0].area == 2.5
    assert parse_architecture(dump_architecture(found), file="mine.toml") == found
    assert parse_json(dump_json(found), Architecture) == found
    graph = Graph(name="net", inputs=(), constants=(), ops=(), outputs=())
    module = Module(graph=graph, arch=found)
    assert parse_module(print_module(module)).arch == found
    assert replace(found, levels=load_architecture("simba").levels) != found
    with pytest.raises(ArchitectureError, match="level.dram.area = -1"):
        parse_architecture(text.replace("area = 0.0", "area = -1.0", 1), file="mine.toml")


CHANGE = Change(
    row="a key of the architecture file",
    edits=(
        Edit(
            "ir/arch.py",
            "    write_energy: Energy = 0.0\n",
            "    write_energy: Energy = 0.0\n    area: Energy = 0.0\n",
        ),
    ),
    proof=prove,
)
