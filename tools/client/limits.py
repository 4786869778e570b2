"""Generates `generated/limits.py`: the service's limits, which the client knows, too."""

import inspect

from forklore_service import limits

DOCSTRING = '''"""What the service takes and answers at most, and the packing of values within bounds.

A copy of the service's own module by `python -m tools.client`. Do not change it by hand.
"""'''


def limits_module() -> str:
    """Return the text of the module: that of the service with another docstring."""
    return inspect.getsource(limits).replace(f'"""{limits.__doc__}"""', DOCSTRING, 1)
