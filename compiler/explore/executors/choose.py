"""From the text of ``--executor`` to an executor."""

from ....ir.errors import OptionError
from .dask_cluster import DaskExecutor
from .executor import Executor
from .local import LocalExecutor
from .ray_cluster import RayExecutor

LOCAL = "local"
_DASK = "dask://"
_RAY = "ray://"


def choose_executor(text: str, processes: int) -> Executor:
    """Return what a text names.

    Args:
        text: ``local``, ``dask://host:port`` of a scheduler, or ``ray://host:port``; ``ray://``
            alone starts Ray on this machine.
        processes: Of the local executor, and of a Ray that is started here.

    Raises:
        OptionError: It names nothing, its engine is not installed or does not answer.
    """
    if text == LOCAL:
        return LocalExecutor(processes)
    if text.startswith(_DASK) and text != _DASK:
        return DaskExecutor.connected(f"tcp://{text.removeprefix(_DASK)}")
    if text.startswith(_RAY):
        return RayExecutor.connected(text.removeprefix(_RAY), processes)
    raise OptionError(
        f"--executor {text}: there is no such executor",
        hint="local, dask://host:8786 or ray://host:10001",
    )
