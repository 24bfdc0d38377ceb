"""Published sizes of networks, in tables; ``zoo`` and ``graphs`` build the networks."""
