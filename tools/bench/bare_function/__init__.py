"""The function that ours are held against."""
