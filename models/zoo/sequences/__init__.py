"""Networks on sequences: words, and the patches of an image."""
