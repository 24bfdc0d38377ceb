"""Networks: importing, quantising, building, and running them for reference."""
