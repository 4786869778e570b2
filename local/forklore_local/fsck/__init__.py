"""A checker of stored data. It reads a whole table and reports items that do not agree.

It writes nothing. The rules are those of docs/architecture.md, "What always holds". A finding has
the number of the rule that is broken, or no number. Stored items cannot show that rule 2, 4, 7, 12,
14 or 15 is broken; tests check those rules. For rule 6, stored items show only a missing entry.
"""
