"""Measure what a search finds: python -m tools.bench.recall FILE [wordllama | MODULE:FUNCTION]

FILE: message trees as the Open-Assistant project publishes them, one JSON object a line: a `prompt`
with `text`, `role` (`prompter` or `assistant`) and `replies`, each again such a message.

Each tree becomes a conversation with a fork for every further reply. Then three things are looked
for among all messages, and it is told how often one that is meant is the first hit, or among the
first 5 or 10:

* question: a message of a user finds a reply to it;
* reply: a reply finds another reply to the same message;
* rare words: the three rarest words of a message find a reply to it.

FUNCTION: returns a vector of each text. With it, or with wordllama, meaning alone and with words
are measured, too.
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, TypeAlias

from forklore import Forklore
from forklore.client.generated.synchronous.conversation import Conversation
from forklore.client.transports.in_process import Model

QUERY_CHARACTERS = 500
HITS = 10
PLACES = (1, 5, 10)
RARE_WORDS, RARE_LETTERS = 3, 3
MARKS = re.compile(r'["+]')
"""What would demand words: a question is text."""
WORD = re.compile(r"\w+")


SearchType: TypeAlias = Literal["auto", "fulltext", "semantic"]
Way: TypeAlias = tuple[SearchType, Callable[[str], str]]


@dataclass
class Message:
    """A message that was appended. entry_id: its entry."""

    text: str
    is_question: bool
    entry_id: str
    replies: list["Message"] = field(default_factory=list)


@dataclass(frozen=True)
class Task:
    """What to look for. asked: the message that is no answer to itself. meant: ids of entries."""

    query: str
    asked: str
    meant: frozenset[str]


def main(path: Path, recall: Model | None) -> None:
    """Print a table of hits."""
    with Forklore.local(user="ann", client="bench", recall=recall) as fl:
        trees = [said(fl.conversation(), json.loads(line)["prompt"]) for line in path.open()]
        messages = [one for tree in trees for one in within(tree)]
        tasks = tasks_of(messages)
        ways: dict[str, Way] = {"all words": ("fulltext", all_of), "words, ranked": ("fulltext", str)}
        ways |= {} if recall is None else {"meaning": ("semantic", str), "both": ("auto", str)}
        print(f"{len(messages)} messages; hits @{'/'.join(map(str, PLACES))}")
        for way, (search_type, query_of) in ways.items():
            for name, some in tasks.items():
                found = [place_of(fl, task, query_of(task.query), search_type) for task in some]
                shares = (sum(place <= most for place in found) / len(found) for most in PLACES)
                told = " / ".join(f"{share:.2f}" for share in shares)
                print(f"{way:16} {name:12} ({len(some)}) {told}")


def said(chat: Conversation, message: Any) -> Message:
    """Append a message and all replies to it; each further reply in a fork."""
    is_question = message["role"] == "prompter"
    entry = chat.say("user" if is_question else "ai", message["text"])
    made = Message(message["text"], is_question, entry.id)
    forks = [chat.fork(after=entry.id) for _ in message["replies"][1:]]
    for place, reply in zip([chat, *forks], message["replies"], strict=False):
        made.replies.append(said(place, reply))
    return made


def within(message: Message) -> Iterator[Message]:
    """Yield a message and all below it."""
    yield message
    for reply in message.replies:
        yield from within(reply)


def tasks_of(messages: Sequence[Message]) -> dict[str, list[Task]]:
    """Return what is looked for, by the name of the task."""
    known = Counter(word for one in messages for word in set(WORD.findall(one.text.casefold())))
    tasks: dict[str, list[Task]] = {"question": [], "reply": [], "rare words": []}
    for one in messages:
        replies = frozenset(reply.entry_id for reply in one.replies)
        if not replies or not one.is_question:
            continue
        words = {word for word in WORD.findall(one.text.casefold()) if len(word) >= RARE_LETTERS}
        rarest = sorted(words, key=lambda word: (known[word], word))[:RARE_WORDS]
        tasks["question"].append(Task(query_in(one.text), one.entry_id, replies))
        tasks["rare words"].append(Task(" ".join(rarest), one.entry_id, replies))
        for reply in one.replies if len(replies) > 1 else []:
            others = replies - {reply.entry_id}
            tasks["reply"].append(Task(query_in(reply.text), reply.entry_id, others))
    return tasks


def query_in(text: str) -> str:
    """Return as much of a text as a query may have."""
    return MARKS.sub(" ", text)[:QUERY_CHARACTERS]


def all_of(text: str) -> str:
    """Return a query that demands each word."""
    return " ".join(f"+{word}" for word in text.split())[:QUERY_CHARACTERS]


def place_of(fl: Forklore, task: Task, query: str, search_type: SearchType) -> int:
    """Return which hit is the first one that is meant, from 1; a large number if none is."""
    page = fl.api.search_conversations(
        query=query, search_type=search_type, limit=HITS + 1, include_entry=False
    )
    others = [hit.entry_id for hit in page.data if hit.entry_id != task.asked]
    return next((at for at, one in enumerate(others, 1) if one in task.meant), 1 + max(PLACES) * 10)


if __name__ == "__main__":
    module, _, function = "".join(sys.argv[2:3]).partition(":")
    model: Model | None = getattr(import_module(module), function) if function else None
    main(Path(sys.argv[1]), "wordllama" if module == "wordllama" else model)
