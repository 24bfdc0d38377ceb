"""Shared fixtures of the test suite."""

from collections.abc import Iterator

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write expected texts instead of comparing"
    )


@pytest.fixture(autouse=True, scope="session")
def _mapping_cache(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[None]:
    """Keep loop nests in a folder of this run: tests neither read nor write the user's.

    Processes that run tests side by side share it.
    """
    base = tmp_path_factory.getbasetemp()
    is_worker = hasattr(request.config, "workerinput")
    folder = (base.parent if is_worker else base) / "mappings"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ACCNN_CACHE", str(folder))
        yield
