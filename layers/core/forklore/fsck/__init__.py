"""A read-only checker of stored data: does everything in a table agree?

The rules are those of docs/architecture.md, "What always holds". A finding has the number of the rule
that it breaks, or none. Stored items cannot show a breach of the rules 2, 4, 7, 12 and 14: tests show
those. Of rule 6 they show only that an entry is missing.
"""
