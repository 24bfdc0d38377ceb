"""The table of faults in ``docs/trust.md``.

    python -m tests.end_to_end.faults.table

prints it.
"""

from collections.abc import Iterable, Iterator

from tests.end_to_end.faults.catalogue import FAULTS
from tests.end_to_end.faults.fault import Fault


def rows(faults: Iterable[Fault]) -> Iterator[str]:
    """Yield a row for each fault: file, what is wrong, who objects and to what."""
    for fault in sorted(faults, key=lambda item: (item.file, item.name)):
        yield f"| `{fault.file}` | {fault.name} | {fault.exam.judge}: {fault.exam} |"


if __name__ == "__main__":
    print("\n".join(["| file | fault | who objects |", "|---|---|---|", *rows(FAULTS)]))
