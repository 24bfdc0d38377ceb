"""Even mappings: all operands of a level start their tiles at the same loop."""
