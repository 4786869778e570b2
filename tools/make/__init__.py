"""What the Makefile runs before anything is installed. Only the standard library."""
