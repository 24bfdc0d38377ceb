"""Networks that classify images, designed by people."""
