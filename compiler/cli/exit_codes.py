"""How commands end."""

EXIT_CODES = "Exit codes: 0 all is well, 1 accnn failed, 2 the input cannot be used"
"""For the last line of ``--help``."""


def epilog(*examples: str, codes: str = EXIT_CODES) -> str:
    """Return the end of a command's help: examples, line by line, and how it ends."""
    lines = "".join(f"  {line}\n" for line in examples)
    return f"\b\nExamples:\n{lines}\n{codes}."


INTERRUPTED = 130
"""After Ctrl-C, as shells have it."""
