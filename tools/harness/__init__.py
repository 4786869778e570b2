"""What the benchmark and the tests both run forklore with. It imports neither of them."""
