"""backend/asm."""
