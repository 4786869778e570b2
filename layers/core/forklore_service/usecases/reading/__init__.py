"""What a caller reads: entries, alternatives, lists, a search, a comparison."""
