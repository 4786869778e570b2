"""Read back what was loaded, in several ways, and report what differs from the file."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from forklore.cli.importing.plan import Place
from forklore.cli.importing.values import printable
from forklore.client.errors import ApiError, NoAnswerError
from forklore.client.messages import role_of
from tools.demo.loaded import LoadedTree, leaves, path_to

if TYPE_CHECKING:
    from forklore import Forklore

FORWARD_PAGE = 50  # entries
BACKWARD_PAGE = 3  # entries; small, so that short paths also have several pages
TEXT_SHOWN_MAX = 60  # characters of a text in a difference


@dataclass(frozen=True, slots=True)
class SeenEntry:
    """An entry as the service shows it."""

    entry_id: str
    role: str
    text: str


@dataclass(frozen=True, slots=True)
class SeenFork:
    """A row of a fork list."""

    conversation_id: str
    source: str | None
    entry_id: str | None
    position: str | None


class Reader(Protocol):
    """What reads back. page: how many entries a page has at the most."""

    def read(self, conversation_id: str, *, page: int, backward: bool = False) -> list[SeenEntry]:
        """Return what a conversation shows, the oldest first."""
        ...

    def list_forks(self, conversation_id: str) -> list[SeenFork]:
        """Return the fork list of a tree."""
        ...


class Client:
    """Reads with the client library."""

    def __init__(self, client: "Forklore") -> None:
        self._client = client

    def read(self, conversation_id: str, *, page: int, backward: bool = False) -> list[SeenEntry]:
        """Return what a conversation shows, the oldest first."""
        shown = (
            self._client.conversation(conversation_id).entries(backward=backward, page_entries=page).list()
        )
        seen = [
            SeenEntry(one.id, (role_of(one) or "").upper(), one.content[0].get("text", "")) for one in shown
        ]
        return seen[::-1] if backward else seen

    def list_forks(self, conversation_id: str) -> list[SeenFork]:
        """Return the fork list of a tree."""
        return [
            SeenFork(
                one.conversation_id,
                one.forked_at_conversation_id,
                one.forked_at_entry_id,
                one.forked_at_position,
            )
            for one in self._client.conversation(conversation_id).forks()
        ]


def verify_tree(reader: Reader, loaded: LoadedTree, *, on_path: Callable[[], None]) -> list[str]:
    """Return the differences between the server and the file, a line each.

    Every path from the prompt to a leaf is read in the conversation where the leaf was written, in
    three ways. If the server answers a read with an error, that is a difference. on_path: called
    after each path. Raises NoAnswerError if the server is gone.
    """
    tree = loaded.tree
    differences: list[str] = []
    for leaf in leaves(tree):
        conversation_id = loaded.conversation_ids[loaded.conversation_of[leaf]]
        expected = [
            SeenEntry(loaded.entry_ids[index], tree.messages[index].role, tree.messages[index].text)
            for index in path_to(tree, leaf)
        ]
        for way, read in _ways_to_read(reader):
            try:
                difference = compare_path(expected, read(conversation_id))
            except NoAnswerError:
                raise
            except ApiError as error:
                difference = str(error)
            if difference is not None:
                differences.append(f"{tree.tree_id}: conversation {conversation_id}, {way}: {difference}")
        on_path()
    try:
        wrong = compare_forks(expected_forks(loaded), reader.list_forks(loaded.conversation_ids[0]))
    except NoAnswerError:
        raise
    except ApiError as error:
        wrong = [str(error)]
    return differences + [f"{tree.tree_id}: {difference}" for difference in wrong]


def compare_path(expected: Sequence[SeenEntry], seen: Sequence[SeenEntry]) -> str | None:
    """Return the first difference in ids, roles or texts; None if there is none."""
    for number, (wanted, got) in enumerate(zip(expected, seen, strict=False), start=1):
        if wanted != got:
            return f"entry {number} of {len(expected)}: {_difference(wanted, got)}"
    if len(seen) < len(expected):
        return f"{len(expected) - len(seen)} missing at the end, from {_show(expected[len(seen)])}"
    if len(seen) > len(expected):
        return f"{len(seen) - len(expected)} extra at the end, from {_show(seen[len(expected)])}"
    return None


def expected_forks(loaded: LoadedTree) -> list[SeenFork]:
    """Return the fork list that a tree should have: every conversation, the root first."""
    ids = loaded.conversation_ids
    return [
        SeenFork(ids[number], None, None, None)
        if fork is None or fork.at is None
        else SeenFork(ids[number], ids[fork.source], _entry_id(loaded, fork.at), fork.position)
        for number, fork in enumerate(loaded.forks)
    ]


def _entry_id(loaded: LoadedTree, place: Place) -> str:
    """Return the id of a message by its place in the plan."""
    of_conversation = [
        entry_id
        for entry_id, number in zip(loaded.entry_ids, loaded.conversation_of, strict=True)
        if number == place.conversation
    ]
    return of_conversation[place.index]


def compare_forks(expected: Sequence[SeenFork], seen: Sequence[SeenFork]) -> list[str]:
    """Return the differences between two fork lists, a line each. The order does not matter."""
    differences: list[str] = []
    waiting = {fork.conversation_id: fork for fork in expected}
    listed: set[str] = set()
    for fork in seen:
        wanted = waiting.pop(fork.conversation_id, None)
        if fork.conversation_id in listed:
            differences.append(f"fork list: {fork.conversation_id} is listed twice")
        elif wanted is None:
            differences.append(f"fork list: {fork.conversation_id} is listed, but not ours")
        elif fork != wanted:
            differences.append(f"fork list: expected {wanted}, got {fork}")
        listed.add(fork.conversation_id)
    return differences + [f"fork list: {conversation_id} is missing" for conversation_id in waiting]


def _ways_to_read(reader: Reader) -> list[tuple[str, Callable[[str], list[SeenEntry]]]]:
    return [
        ("forward", lambda one: reader.read(one, page=FORWARD_PAGE)),
        ("backward", lambda one: reader.read(one, page=BACKWARD_PAGE, backward=True)),
        ("one at a time", lambda one: reader.read(one, page=1)),
    ]


def _difference(wanted: SeenEntry, got: SeenEntry) -> str:
    if (wanted.entry_id, wanted.role) != (got.entry_id, got.role):
        return f"expected {_show(wanted)}, got {_show(got)}"
    pairs = enumerate(zip(wanted.text, got.text, strict=False))
    at = next((at for at, (one, other) in pairs if one != other), min(len(wanted.text), len(got.text)))
    expected, seen = (text[at : at + TEXT_SHOWN_MAX] for text in (wanted.text, got.text))
    return f"{wanted.entry_id} differs from character {at + 1} on: expected {expected!a}, got {seen!a}"


def _show(entry: SeenEntry) -> str:
    return f"{entry.role} {printable(entry.text, TEXT_SHOWN_MAX)!r} ({entry.entry_id})"
