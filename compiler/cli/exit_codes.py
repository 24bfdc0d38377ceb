"""How commands end."""

EXIT_CODES = "Exit codes: 0 all is well, 1 accnn failed, 2 the input cannot be used"
"""For the last line of ``--help``."""

INTERRUPTED = 130
"""After Ctrl-C, as shells have it."""
