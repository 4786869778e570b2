"""The function that forklore's functions are compared with."""
