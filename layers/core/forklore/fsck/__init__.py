"""A read-only checker of stored data: does all that lies in a table agree?

What must hold; a finding names the number of the rule that it breaks, where there is one:

1. An id is one conversation's, in one tree; an entry's conversation is in its tree.
2. Appends to a conversation are kept in the order in which they were acknowledged.
3. A conversation's keys ascend; HEAD's last key is the largest, and its counts are exact.
4. What a fork has inherited never changes.
5. Bounds only tighten along a path, which is acyclic, inside one tree, of ascending and disjoint ranges.
6. What was acknowledged is there until it is deleted; what has failed for certain is not.
7. A view only grows, and its pages are the whole of it.
8. Context is its client's; a client's epochs never fall along a view.
9. A live tree has one owner and at most one pending transfer; members and their lists agree.
10. Of what was deleted nothing remains but ids that rest for 30 days; what goes on is known as a job.
11. What is done once under a key is answered the same each time.
12. What has failed has changed nothing.
13. What was sent is what is read.
14. No caller is shown a key.

Items as they lie say nothing of 2, 4, 7, 12 and 14: tests do. Of 6 they say whether an entry is missing.
"""
