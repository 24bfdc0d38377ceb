"""Read damaged files in a process of their own, and see how each attempt ends."""

import json
import random
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from accnn.ir.errors import AccnnError
from tests.hostile.files import Kind, damaged, kind_of

NAMES = ("onnx", "toml", "ir", "assembly", "program", "members", "cache")
SECONDS, MEMORY = 10, 2 << 30
"""What one file may take [s], [byte]."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that was not read well.

    Attributes:
        name: Of the kind, with seed and number.
        suffix: Of the file.
        content: The file.
        what: What happened.
    """

    name: str
    suffix: str
    content: bytes
    what: str

    def keep(self, folder: Path) -> None:
        """Write the file, and beside it what happened."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{self.name}{self.suffix}").write_bytes(self.content)
        (folder / f"{self.name}.txt").write_text(self.what, encoding="utf-8")


End: TypeAlias = Literal["read", "refused"] | Failure


def attempts(name: str, seed: int, count: int) -> list[End]:
    """Return how the attempts of one kind of file end.

    Args:
        name: Of the kind.
        seed: Of all draws.
        count: How many files.
    """
    found: list[End] = []
    while len(found) < count:
        with tempfile.TemporaryDirectory() as folder:
            words = [sys.executable, "-m", "tests.hostile.run", name, str(seed), folder]
            bounds = [str(len(found)), str(count)]
            done = subprocess.run([*words, *bounds], check=False, capture_output=True, text=True)
            for line in done.stdout.splitlines():
                found.append(_end(f"{name}-{seed}-{len(found)}", json.loads(line)))
            if done.returncode:
                found.append(_killed(f"{name}-{seed}-{len(found)}", Path(folder), done))
    return found


def _end(name: str, line: Mapping[str, str]) -> End:
    end = line["end"]
    if end == "read" or end == "refused":
        return end
    return Failure(name, line["suffix"], bytes.fromhex(line["content"]), end)


def _killed(name: str, folder: Path, done: subprocess.CompletedProcess[str]) -> Failure:
    """Return the file that a process was at when it ended."""
    paths = list(folder.glob("damaged.*"))
    if not paths:
        raise AssertionError(done.stderr)
    what = f"{done.stderr[-2000:]}\nthe process ended with {done.returncode}"
    return Failure(name, paths[0].suffix, paths[0].read_bytes(), what)


def _work(name: str, seed: int, folder: Path, first: int, count: int) -> None:
    """Read files, and print a line of each."""
    (folder / "made").mkdir()
    kind = kind_of(name, folder / "made")
    (folder / f"right{kind.suffix}").write_bytes(kind.right)
    kind.read(folder / f"right{kind.suffix}")
    resource.setrlimit(resource.RLIMIT_DATA, (_data() + MEMORY,) * 2)
    path = folder / f"damaged{kind.suffix}"
    for number in range(first, count):
        content = damaged(kind.right, random.Random(f"{name} {seed} {number}"))
        path.write_bytes(content)
        line = {"end": end_of(kind, path)}
        if line["end"] not in ("read", "refused"):
            line |= {"suffix": kind.suffix, "content": content.hex()}
        print(json.dumps(line), flush=True)


def end_of(kind: Kind, path: Path, seconds: int = SECONDS) -> str:
    """Return how reading a file ends: ``read``, ``refused``, or what went wrong.

    Args:
        kind: Of the file.
        path: The file.
        seconds: What it may take [s].
    """
    signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(seconds)
    try:
        kind.read(path)
        return "read"
    except AccnnError:
        return "refused"
    except Exception:
        return traceback.format_exc()
    finally:
        signal.alarm(0)


def _data() -> int:
    """Return the data of this process so far [byte]."""
    lines = Path("/proc/self/status").read_text().splitlines()
    size = next(line.split()[1] for line in lines if line.startswith("VmData"))
    return 1024 * int(size)


def _too_long(*_: object) -> None:
    raise TimeoutError("it takes too long")


if __name__ == "__main__":
    _work(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), *map(int, sys.argv[4:]))
