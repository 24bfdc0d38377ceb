"""Assembly text of programs: ``assemble`` and ``disassemble`` are inverse."""

from .assemble import assemble
from .disassemble import disassemble, write_assembly

__all__ = ["assemble", "disassemble", "write_assembly"]
