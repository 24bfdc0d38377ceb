"""Integer operators out of floats between dequantise and quantise: the pass, its rules, tables."""
