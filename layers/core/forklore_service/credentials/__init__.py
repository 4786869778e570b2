"""Checks credentials and finds whose they are: the token, the API key, the roles.

Only the authorizer runs this code. Neither the caller nor a log learns which credential was bad, or
why. `api_keys`, `roles` and `headers` are pure.
"""
