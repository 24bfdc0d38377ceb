"""``python -m tests.attack``."""

import sys

from .run import main

sys.exit(main())
