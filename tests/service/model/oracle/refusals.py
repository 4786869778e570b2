"""The refusals that several operations have in common, and what is in place of an unknown value."""

INVALID, FORBIDDEN, NOT_FOUND = (400, "validation_error"), (403, "forbidden"), (404, "not_found")
CONFLICT, NOT_CHOSEN = (409, "conflict"), "what the service has not chosen"
