"""An accelerator: the path of its architecture file."""

from pathlib import Path

POCKET = Path(__file__).with_name("pocket.toml")
