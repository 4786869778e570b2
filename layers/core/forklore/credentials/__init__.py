"""Whether credentials are good, and whose they are: the token, the API key, the roles.

The one room that runs in the authorizer alone. Nothing in it says which of a caller's credentials was bad, or
why; neither to the caller nor to a log. `lists`, `api_keys`, `roles` and `headers` are pure.
"""
