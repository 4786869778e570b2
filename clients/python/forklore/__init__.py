"""forklore: conversations that fork like git, on Lambda and DynamoDB alone.

    from forklore import Forklore

    fl = Forklore("http://127.0.0.1:8080", token="alice")
    chat = fl.named("trip")
    chat.say("user", "Two nights in Lisbon?")

The client is imported when one of its names is used. The service itself imports nothing of it.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forklore.client.asynchronous.client import AsyncForklore as AsyncForklore
    from forklore.client.asynchronous.conversation import AsyncConversation as AsyncConversation
    from forklore.client.errors import ApiError as ApiError
    from forklore.client.errors import BadRequestError as BadRequestError
    from forklore.client.errors import ConflictError as ConflictError
    from forklore.client.errors import ForbiddenError as ForbiddenError
    from forklore.client.errors import InputError as InputError
    from forklore.client.errors import InvocationError as InvocationError
    from forklore.client.errors import MismatchError as MismatchError
    from forklore.client.errors import NoAnswerError as NoAnswerError
    from forklore.client.errors import NotFoundError as NotFoundError
    from forklore.client.errors import PreconditionFailedError as PreconditionFailedError
    from forklore.client.errors import ServerError as ServerError
    from forklore.client.errors import TooLargeError as TooLargeError
    from forklore.client.errors import UnauthorizedError as UnauthorizedError
    from forklore.client.errors import UnavailableError as UnavailableError
    from forklore.client.errors import UnexpectedAnswerError as UnexpectedAnswerError
    from forklore.client.generated.results import Entry as Entry
    from forklore.client.generated.synchronous.client import Forklore as Forklore
    from forklore.client.generated.synchronous.conversation import Conversation as Conversation
    from forklore.client.memory import Memory as Memory
    from forklore.client.messages import role_of as role_of
    from forklore.client.messages import text_of as text_of
    from forklore.client.trees import Tree as Tree
    from forklore.client.trees import Way as Way

__all__ = [
    "ApiError",
    "AsyncConversation",
    "AsyncForklore",
    "BadRequestError",
    "ConflictError",
    "Conversation",
    "Entry",
    "ForbiddenError",
    "Forklore",
    "InputError",
    "InvocationError",
    "Memory",
    "MismatchError",
    "NoAnswerError",
    "NotFoundError",
    "PreconditionFailedError",
    "ServerError",
    "TooLargeError",
    "Tree",
    "UnauthorizedError",
    "UnavailableError",
    "UnexpectedAnswerError",
    "Way",
    "role_of",
    "text_of",
]

_PLACES = {
    "asynchronous.client": ("AsyncForklore",),
    "asynchronous.conversation": ("AsyncConversation",),
    "errors": (
        *("ApiError", "BadRequestError", "ConflictError", "ForbiddenError", "InputError"),
        *("InvocationError", "MismatchError", "NoAnswerError", "NotFoundError"),
        *("PreconditionFailedError", "ServerError", "TooLargeError"),
        *("UnauthorizedError", "UnavailableError", "UnexpectedAnswerError"),
    ),
    "memory": ("Memory",),
    "messages": ("role_of", "text_of"),
    "generated.results": ("Entry",),
    "generated.synchronous.client": ("Forklore",),
    "generated.synchronous.conversation": ("Conversation",),
    "trees": ("Tree", "Way"),
}


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    """Return a name of the client."""
    for place, names in _PLACES.items():
        if name in names:
            from importlib import import_module

            return getattr(import_module(f"forklore.client.{place}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
