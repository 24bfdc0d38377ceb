"""Write the results of a compilation: program, texts, model, trace and report."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ..backend.package import save_package
from ..ir.isa.program import Program
from ..ir.report import to_json
from ..ir.text.printer import print_module
from ..ir.text.printing.program import print_program
from ..models.session import save_model
from ..runtime_sim.result import SimulationResult
from ..runtime_sim.trace import write_trace
from .driver import Result, constants_of
from .output import write_folder
from .report.html import html_report

Writer = Callable[[Path], None]


def write_results(result: Result, folder: Path | str) -> None:
    """Write everything that exists to a folder, atomically.

    ``report.json``, ``report.html``, ``module.ir`` and ``model.onnx`` are always there;
    ``program.acc`` and ``program.asm`` once there is a program, ``trace.json`` once it has run. The
    program's text is ``program.asm``; ``module.ir`` has the stages before it.

    Raises:
        OptionError: The folder cannot be written.
    """
    files: dict[str, Writer] = {
        "model.onnx": lambda path: save_model(result.network.model, path),
        "module.ir": lambda path: _write_text(
            path, print_module(replace(result.module, program=None))
        ),
    }
    program = result.module.program
    nodes = {item.name: item.nodes for item in result.report.operators}
    if program is not None:
        files["program.asm"] = lambda path: _write_assembly(path, program, nodes)
        files["program.acc"] = lambda path: _write_package(path, result, program)
    simulation = result.simulation
    if simulation is not None and simulation.timelines is not None:
        files["trace.json"] = lambda path: _write_trace(path, simulation, nodes)
    files["report.html"] = lambda path: _write_text(path, _page(result))
    files["report.json"] = lambda path: _write_text(path, to_json(result.report))
    write_folder(Path(folder), files)


def _page(result: Result) -> str:
    return html_report(result.report, result.module, result.simulation)


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _write_assembly(path: Path, program: Program, nodes: Mapping[str, Sequence[str]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"// {name}: ONNX {', '.join(of)}\n" for name, of in nodes.items() if of)
        file.writelines(print_program(program))


def _write_package(path: Path, result: Result, program: Program) -> None:
    imported = result.network.imported
    names = (*imported.input_names, *imported.output_names)
    save_package(path, program, constants_of(result.module), names=names)


def _write_trace(
    path: Path, simulation: SimulationResult, nodes: Mapping[str, Sequence[str]]
) -> None:
    with path.open("w", encoding="utf-8") as file:
        write_trace(simulation, file, nodes)
