"""Lend an installed package the machine code that its sources were compiled to.

    python -m tests.machine_code env/lib/python3.11/site-packages/accnn

Compiling all kernels anew takes two minutes. Numba keeps machine code below a digest of the path of
its sources, and believes what is as old as they are.
"""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from numba.core.caching import UserProvidedCacheLocator

from accnn.ir.compiled import machine_code_folder

ROOT = Path(__file__).parents[1]


def kept_for(folder: Path) -> str:
    """Return how Numba calls the folder for machine code of the sources of a folder."""
    return UserProvidedCacheLocator.get_suitable_cache_subpath(folder / "any.py")


def lend(package: Path) -> Iterator[str]:
    """Copy machine code to the same folders of a package whose sources are equal.

    Args:
        package: The installed package.

    Yields:
        The folders.
    """
    for code in ROOT.glob("[a-z]*/**/__pycache__/numba-*/*"):
        source = code.parents[2]
        own = package / source.relative_to(ROOT)
        if code.name == kept_for(source) and code.parent.name == machine_code_folder(own).name:
            shutil.copytree(code, machine_code_folder(own) / kept_for(own))
            for path in source.glob("*.py"):
                shutil.copystat(path, own / path.name)
            yield str(own.relative_to(package))


if __name__ == "__main__":
    print(*lend(Path(sys.argv[1]).resolve()), sep="\n")
