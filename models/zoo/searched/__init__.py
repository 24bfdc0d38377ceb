"""Networks that classify images, found by neural architecture search."""
