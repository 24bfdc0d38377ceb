"""backend/targets."""
