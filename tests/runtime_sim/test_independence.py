"""The simulator has its own statement of the machine's times."""

import ast
from pathlib import Path

import accnn.runtime_sim

FOLDER = Path(accnn.runtime_sim.__file__).parent


def test_no_file_imports_the_compilers_prediction():
    for path in FOLDER.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert not (node.module or "").endswith("ir.isa.latency"), path
                assert "latency" not in [item.name for item in node.names], path


def test_the_execution_of_nests_imports_nothing_of_the_model():
    for name in ("execution.py", "nest_geometry.py"):
        tree = ast.parse(Path(__file__).with_name(name).read_text())
        sources = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}

        assert not any(source.startswith("accnn.passes") for source in sources)
