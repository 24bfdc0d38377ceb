"""The catalogue of architectures: one TOML file each."""
