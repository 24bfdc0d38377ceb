"""ir/text."""
