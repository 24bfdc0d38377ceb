"""The compiled part of the step-by-step search: which nests are one step away."""
