"""What a caller writes: appends, merges, titles, names."""
