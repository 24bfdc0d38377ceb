"""A package that adds to accnn: a pass, a mapper and an accelerator."""
