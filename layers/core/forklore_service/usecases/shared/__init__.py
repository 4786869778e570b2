"""What several use cases do: load, check, draft, read a view, retry, answer again."""
