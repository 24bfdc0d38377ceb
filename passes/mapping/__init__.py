"""Mappers: one loop nest per operator."""
