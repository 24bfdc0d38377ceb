"""Write the results of a compilation: program, texts, model, trace and report."""

from collections.abc import Callable
from pathlib import Path

from ..backend.asm.disassemble import disassemble
from ..backend.package import save_package
from ..ir.report import to_json
from ..ir.text.printer import print_module
from ..models.session import save_model
from ..runtime_sim.trace import write_trace
from .driver import Result, constants_of
from .output import write_folder

Writer = Callable[[Path], None]


def write_results(result: Result, folder: Path) -> None:
    """Write everything that exists to a folder, atomically.

    ``report.json``, ``module.ir`` and ``model.onnx`` are always there; ``program.acc`` and
    ``program.asm`` once there is a program, ``trace.json`` once it has run.

    Raises:
        OptionError: The folder cannot be written.
    """
    files: dict[str, Writer] = {
        "model.onnx": lambda path: save_model(result.network.model, path),
        "module.ir": lambda path: _write_text(path, print_module(result.module)),
    }
    program = result.module.program
    if program is not None:
        files["program.asm"] = lambda path: _write_text(path, disassemble(program))
        files["program.acc"] = lambda path: save_package(
            path,
            program,
            constants_of(result.module),
            inputs=result.network.imported.input_names,
            outputs=result.network.imported.output_names,
        )
    simulation = result.simulation
    if simulation is not None:
        files["trace.json"] = lambda path: write_trace(simulation, path)
    files["report.json"] = lambda path: _write_text(path, to_json(result.report))
    write_folder(folder, files)


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
