"""``--version``: of accnn, and of what its results depend on."""

import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, TypeAlias

import typer

_PACKAGES = {
    "highspy": "HiGHS",
    "mip": "python-mip, CBC",
    "onnxruntime": "onnxruntime",
    "onnx": "onnx",
    "numpy": "NumPy",
    "numba": "Numba",
}
"""Solvers, runtime and what computes, by the name of the package."""


def _show_version(context: typer.Context, wanted: bool) -> None:
    """Print the versions and stop."""
    if not wanted:
        return
    lines = [f"{context.find_root().info_name} {_installed('accnn')}"]
    lines += [f"  {shown} {_installed(name)}" for name, shown in _PACKAGES.items()]
    lines.append(f"  Python {sys.version.partition(' ')[0]}")
    typer.echo("\n".join(lines))
    raise typer.Exit()


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "is not installed"


Version: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--version",
        is_eager=True,
        callback=_show_version,
        help="Show the versions of accnn, solvers and runtime, and exit.",
    ),
]
