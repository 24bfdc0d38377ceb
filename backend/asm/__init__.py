"""Programs as assembly text, both ways."""
