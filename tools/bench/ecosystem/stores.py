"""What is compared: a store of a framework, as one process opens it."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any


class Store(ABC):
    """Sessions of texts. One object stands for one process.

    `load` comes before `append`, as in an agent's turn.
    """

    def prepare(self, session: str) -> None:  # noqa: B027 (most stores do nothing)
        """Do what the framework does once for a session, which is not measured."""

    @abstractmethod
    def load(self, session: str) -> list[str]:
        """Return the texts of a session, the oldest first; none if there is no session."""

    @abstractmethod
    def append(self, session: str, texts: Sequence[str]) -> None:
        """Append texts to what was loaded."""

    def fill(self, session: str, texts: Sequence[str]) -> None:
        """Begin a session with texts, two in each append: a question and its answer."""
        self.load(session)
        for at in range(0, len(texts), 2):
            self.append(session, texts[at : at + 2])

    def fork(self, session: str, made: str) -> None:
        """Make a session that begins with what another one shows.

        Raises NotImplementedError if the store cannot.
        """
        raise NotImplementedError

    def close(self) -> None:  # noqa: B027 (as above)
        """Free what the store holds."""


def message_of(number: int, text: str) -> dict[str, Any]:
    """Return a message with a role, as most frameworks have it."""
    return {"role": "user" if number % 2 == 0 else "assistant", "content": text}
