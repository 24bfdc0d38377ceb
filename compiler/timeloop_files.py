"""Write a mapped layer as the three files that ``timeloop-model`` reads."""

from pathlib import Path

from ..ir.arch import Architecture
from ..ir.errors import OptionError
from ..ir.mapping import LoopNest
from ..passes.mapping.timeloop import write_arch, write_mapping, write_problem


def write_timeloop(folder: Path, nest: LoopNest, arch: Architecture) -> None:
    """Write ``problem.yaml``, ``arch.yaml`` and ``mapping.yaml`` into a folder.

    Raises:
        OptionError: The nest has no form in Timeloop, or the folder cannot be written to.
    """
    files = {
        "problem.yaml": write_problem(nest.workload),
        "arch.yaml": write_arch(arch),
        "mapping.yaml": write_mapping(nest, arch),
    }
    target = folder.parent / folder.name.replace("/", "_").replace(" ", "_")
    try:
        target.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (target / name).write_text(text)
    except OSError as error:
        raise OptionError(f"cannot write {target}: {error.strerror}") from error
