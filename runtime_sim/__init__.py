"""runtime_sim."""
