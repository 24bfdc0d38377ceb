"""Where accnn keeps what it may need again."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """Return the user's folder: ``$ACCNN_CACHE``, else ``accnn`` where caches are kept."""
    named = os.environ.get("ACCNN_CACHE")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "accnn"
