"""One function for each thing a caller can do: check access, load, decide, write."""
