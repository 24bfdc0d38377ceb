"""The simulator has its own statement of the machine's times."""

import ast
from pathlib import Path

import accnn.runtime_sim

FOLDER = Path(accnn.runtime_sim.__file__).parent


def test_no_file_imports_the_compilers_prediction():
    for path in FOLDER.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert not (node.module or "").endswith("ir.latency"), path
                assert "latency" not in [item.name for item in node.names], path
