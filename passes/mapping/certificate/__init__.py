"""Integer programs over even mappings: ours, whose optimum is a bound, and CoSA's as published."""
