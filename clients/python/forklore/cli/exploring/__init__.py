"""A small server on this machine: the explorer, and a way from it to a deployed stage."""
