"""Shared fixtures of the test suite."""

import gc
import os
import shutil
import tempfile
from functools import partial

import pytest

from accnn.compiler.garbage import collect_rarely


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write expected texts instead of comparing"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Keep loop nests in a folder of this run: tests neither read nor write the user's.

    That is before modules of tests are imported, whose options name the folder. Processes that run
    tests side by side share it.
    """
    if not hasattr(config, "workerinput"):
        os.environ["ACCNN_CACHE"] = folder = tempfile.mkdtemp(prefix="accnn-tests-")
        config.add_cleanup(partial(shutil.rmtree, folder, ignore_errors=True))


LONGEST = (
    "end_to_end/test_faults.py",
    "tiling/groups/test_group.py",
    "recipes/test_cosa.py",
    "cli/test_acc_compile.py",
    "tests/test_docs_commands.py",
    "benchmarks/test_quality.py",
    "explain/test_explaining.py",
    "examples/test_examples.py",
    "end_to_end/test_mutations.py",
    "end_to_end/test_networks.py",
    "end_to_end/test_draws.py",
    "models/quantisation/test_quantize.py",
    "across/test_schedule_across.py",
    "mutants/test_mutants.py",
)
"""Files of tests that take longest."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest files: the processes that share the tests end together then."""
    items.sort(key=lambda item: not str(item.path).endswith(LONGEST))


def pytest_collection_finish() -> None:
    """Let collections of garbage be rare, as commands do, and pass by what all tests have."""
    collect_rarely()
    gc.collect()
    gc.freeze()
