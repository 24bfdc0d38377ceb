"""From a scheduled network to a program: architecture files, lowering, encoding, artefact."""
