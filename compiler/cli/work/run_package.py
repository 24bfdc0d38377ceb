"""Run a compiled program on the inputs of a file."""

import io
import zipfile
import zlib
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import typer

from ....backend.package import Package, load_package
from ....ir.codec.files import check_writable, replacing
from ....ir.errors import InputError, OptionError
from ....runtime_sim.simulate import SimulationResult, simulate
from ....runtime_sim.timing.events import TimingModel
from ....runtime_sim.trace import write_trace
from ...report.figures import amount, cycles_text, joule
from ..verbosity import Verbosity

Array: TypeAlias = npt.NDArray[Any]


def run_package(
    program: Path,
    inputs: Path,
    output: Path,
    trace: Path | None,
    *,
    races: bool,
    timing: str,
    verbosity: Verbosity,
) -> None:
    """Execute a program, write its outputs, tell its cost.

    Args:
        program: Package that ``acc-compile`` wrote.
        inputs: ``.npz`` with one array per input.
        output: ``.npz`` to write.
        trace: Where to write a trace; ``None`` writes none.
        races: Whether to stop at unordered accesses.
        timing: How long transfers take: ``analytical`` or ``network``.
        verbosity: How much is said.

    Raises:
        AccnnError: A file is not what it must be, or the program does what the machine forbids.
    """
    _check_targets(output, trace)
    _check_kept({"PROGRAM": program, "--input": inputs}, {"--output": output, "--trace": trace})
    package = load_package(program)
    result = simulate(
        package.program,
        package.constants,
        _named_inputs(package, inputs),
        detect_races=races,
        trace=trace is not None,
        timing=TimingModel(timing),
    )
    _write(package, result, output, trace)
    if verbosity is not Verbosity.QUIET:
        typer.echo(_summary(result))


def _check_targets(output: Path, trace: Path | None) -> None:
    """Check, before any work, that both files may be written.

    Raises:
        OptionError: One cannot be, or they are the same.
    """
    check_writable(output)
    if trace is None:
        return
    check_writable(trace)
    if trace.absolute() == output.absolute():
        raise OptionError(f"--output and --trace are the same file: {trace}")


def _check_kept(read: Mapping[str, Path], written: Mapping[str, Path | None]) -> None:
    """Check that no file that is read is written, too; devices may be both.

    Raises:
        OptionError: One is.
    """
    for target, to in written.items():
        for source, path in read.items():
            if to is not None and path.is_file() and path.resolve() == to.resolve():
                raise OptionError(f"{target} would replace {source}: {to}")


def _named_inputs(package: Package, path: Path) -> dict[str, Array]:
    """Return the arrays of a file under the names that the program gives them."""
    arrays = _load(path)
    symbols = {port.name: port.symbol for port in package.manifest.inputs}
    unknown = sorted(set(arrays) - set(symbols))
    if unknown:
        hint = f"inputs: {', '.join(symbols)}"
        raise InputError(f"{path}: the network has no input {unknown[0]!r}", hint=hint)
    return {symbols[name]: array for name, array in arrays.items()}


def _load(path: Path) -> dict[str, Array]:
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is not a file")
    try:
        archive: object = np.load(path, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise InputError(f"{path} is not an .npz file")
        with archive:
            arrays = {name: cast("object", archive[name]) for name in archive.files}
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"{path} is not an .npz file of plain arrays: {error}") from error
    strange = [name for name, array in arrays.items() if not isinstance(array, np.ndarray)]
    if strange:
        raise InputError(f"{path} is not an .npz file of plain arrays: it holds {strange[0]!r}")
    return cast("dict[str, Array]", arrays)


def _write(package: Package, result: SimulationResult, output: Path, trace: Path | None) -> None:
    """Write outputs under their ONNX names, and the trace if one is asked for: all or nothing."""
    outputs = {port.name: result.outputs[port.symbol] for port in package.manifest.outputs}
    with replacing(output) as partial, ExitStack() as stack:
        _write_npz(partial, outputs)
        if trace is not None:
            partial_trace = stack.enter_context(replacing(trace))
            with partial_trace.open("w", encoding="utf-8") as file:
                write_trace(result, file)


def _write_npz(path: Path, arrays: Mapping[str, Array]) -> None:
    """Write what ``np.load`` reads; unlike ``np.savez``, arrays may have any name."""
    whole = io.BytesIO()  # a zip is not written front to back, which devices ask for
    with zipfile.ZipFile(whole, "w") as archive:
        for name, array in arrays.items():
            content = io.BytesIO()
            np.lib.format.write_array(content, array, allow_pickle=False)
            entry = zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0))
            archive.writestr(entry, content.getvalue())
    path.write_bytes(whole.getvalue())


def _summary(result: SimulationResult) -> str:
    program, seconds = result.program, result.cycles / result.program.arch.clock_hz
    return (
        f"{program.name} on {program.arch.name}: {cycles_text(result.cycles)} cycles "
        f"({amount(seconds, 's')}), {amount(joule(result.energy_pj), 'J')}, "
        f"{amount(result.total.off_chip_bytes, 'B')} off chip"
    )
