"""The comment lines at the head of a module's text that say how to run it.

::

    // pipeline: eliminate-dead,in-order{budget=65536}
    // seed: 7
    // constants: reproducer.safetensors
"""

import re
from dataclasses import dataclass

from ..ir.errors import ParseError

_LINE = re.compile(r"//\s*(pipeline|seed|constants):\s*(.*?)\s*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """How to run a text.

    Attributes:
        pipeline: The passes; ``None`` where the text does not say.
        seed: Seed of the run.
        constants: File with the constants, beside the text; ``None`` for none.
    """

    pipeline: str | None = None
    seed: int = 0
    constants: str | None = None

    def __str__(self) -> str:
        lines = [] if self.pipeline is None else [f"// pipeline: {self.pipeline}\n"]
        lines += [f"// seed: {self.seed}\n"] if self.seed else []
        lines += [] if self.constants is None else [f"// constants: {self.constants}\n"]
        return "".join(lines)


def read_header(text: str) -> Header:
    """Read the header: the comment lines before anything else.

    Raises:
        ParseError: The seed is not a number.
    """
    found: dict[str, str] = {}
    for line in text.splitlines():
        if line.strip() and not line.lstrip().startswith("//"):
            break
        if match := _LINE.match(line.strip()):
            found.setdefault(match[1], match[2])
    seed = found.get("seed", "0")
    if not seed.isdecimal():
        raise ParseError(f"the header has seed {seed!r}, expected a number of 0 or more")
    return Header(pipeline=found.get("pipeline"), seed=int(seed), constants=found.get("constants"))
