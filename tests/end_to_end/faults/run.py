"""Plant faults, one per process, and print what the exams say, one line of JSON each.

    python -m tests.end_to_end.faults.run right 0 7 12

``right`` is the package as it is, under the exams of the faults that are named beside it, or under
all where none is; ``same7`` what fault 7 is to show, without it; ``broken7`` what is no
Python in its place.
What no fault changes is imported, and compiled, once; every fault gets a process of its own.
"""

import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from importlib import import_module

from tests.end_to_end.faults.catalogue import FAULTS
from tests.end_to_end.faults.fault import Exam, Fault
from tests.end_to_end.faults.planting import Importers, importers_now, plant

_BATTERY = "tests.end_to_end.faults.battery"
RIGHT = "right"
SAME = "same"
BROKEN = "broken"


def ask(exam: str) -> dict[str, object]:
    """Return what one exam says of the package as it can be imported now."""
    begun = time.monotonic()
    try:
        objection = import_module(_BATTERY).objection(exam)
    except Exception:  # whatever a fault breaks is to be told, and is no objection
        return {"exam": exam, "crash": traceback.format_exc(), "seconds": time.monotonic() - begun}
    return {"exam": exam, "objection": objection, "seconds": time.monotonic() - begun}


def _apart(work: Callable[[], Iterator[dict[str, object]]]) -> None:
    """Do work in a process of its own, which prints what it yields."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    for found in work():
        os.write(1, (json.dumps(found) + "\n").encode())
    os._exit(0)


def _planted(name: str, fault: Fault, importers: Importers) -> Iterator[dict[str, object]]:
    plant(fault, importers)
    yield {"asked": name, **ask(fault.exam.value)}


def _right(exams: Iterable[Exam]) -> Iterator[dict[str, object]]:
    for exam in exams:
        yield {"asked": RIGHT, **ask(exam.value)}


def main(wanted: list[str]) -> None:
    """Run what is wanted, in order."""
    import_module(_BATTERY).prepare()
    importers = importers_now()
    named = {FAULTS[int(item)].exam for item in wanted if item.isdigit()}
    for item in wanted:
        if item == RIGHT:
            _apart(partial(_right, [exam for exam in Exam if exam in named or not named]))
        else:
            fault = FAULTS[int(item.removeprefix(SAME).removeprefix(BROKEN))]
            if item.startswith(SAME):
                fault = replace(fault, new=fault.old)
            elif item.startswith(BROKEN):
                fault = replace(fault, new="(")
            _apart(partial(_planted, item, fault, importers))


if __name__ == "__main__":
    main(sys.argv[1:])
