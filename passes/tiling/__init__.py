"""Cut operators into tiles that fit on chip."""
