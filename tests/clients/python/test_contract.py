"""What the clients for Python and for TypeScript have in common: `contract.json` drives both.

Each story is a list of steps. `call` is a method under its name in TypeScript, of the client or of
what `on` names; `with` and `options` are its arguments. `as` names what it returns. `gives` is a
part of it that is expected, `texts` those of the entries, `throws` a part of the error. In them
`$name` stands for what was named so, or for its member, `...$name` for the elements of a list, and
`@name` for a user. `for` says which user calls; Ann if it is not said.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic.alias_generators import to_snake

from forklore import ApiError, AsyncConversation, AsyncForklore, Conversation, Tree, text_of
from forklore.client.asynchronous.answers import AsyncAnswer
from forklore.client.asynchronous.context import AsyncContext
from forklore.client.result_base import Value
from tests.clients.python.ways import EACH_MODE, Way, opened, plain

STORIES: Mapping[str, list[dict[str, Any]]] = json.loads(
    (Path(__file__).parent / "contract.json").read_text(encoding="utf-8")
)


SOURCES = Path(__file__).parents[3] / "clients" / "typescript" / "src"
MEMBER = re.compile(r"^\t(?:readonly |get |async )*\*?([a-z]\w*)(?=[(<:])", re.MULTILINE)
"""A public member of a class in TypeScript, with the usual indent."""
ONE_ALONE = {
    "Forklore": {
        "aclose": "a client for TypeScript holds nothing",
        "acting_as": "nor speaks for several users",
        "local": "the service runs in Python",
        "on_lambda": "and is invoked from there",
        "download": "a page has no files to write to",
        "located": "Python reads bytes itself",
    },
    "Answer": {"signal": "Python raises in `write`"},
}
"""What only one of the clients has, and why."""


@pytest.mark.parametrize(
    ("name", "file", "kind"),
    [
        ("Conversation", "conversation", AsyncConversation),
        ("Forklore", "client", AsyncForklore),
        ("Context", "context", AsyncContext),
        ("Answer", "answers", AsyncAnswer),
    ],
)
def test_both_clients_have_the_same_members(name: str, file: str, kind: type) -> None:
    text = (SOURCES / f"{file}.ts").read_text(encoding="utf-8")
    body = text.partition(f"export class {name}")[2].partition("\n}\n")[0]
    theirs = {to_snake(one) for one in MEMBER.findall(body)} - {"constructor"}
    ours = {one for one in dir(kind) if not one.startswith("_")}

    assert theirs ^ ours == {*ONE_ALONE.get(name, ())}


@pytest.fixture(scope="module", params=EACH_MODE)
def way(request: pytest.FixtureRequest) -> Iterator[Way]:
    with pytest.MonkeyPatch.context() as environment, opened("process", request.param, environment) as way:
        yield way


@pytest.mark.parametrize("story", STORIES)
def test_the_story_goes_as_told(way: Way, story: str) -> None:
    kept: dict[str, Any] = {}

    def filled(held: Any) -> Any:
        match held:
            case str() if held.startswith("@"):
                return f"{story} {held[1:]}"
            case str() if held.startswith("$"):
                name, _, member = held[1:].partition(".")
                return getattr(kept[name], to_snake(member)) if member else kept[name]
            case list():
                return [one for each in held for one in spread(each)]
            case dict():
                return {filled(name): filled(inner) for name, inner in held.items()}
        return held

    def spread(held: Any) -> list[Any]:
        is_spread = isinstance(held, str) and held.startswith("...")
        return list(filled(held[3:])) if is_spread else [filled(held)]

    def result(step: dict[str, Any]) -> Any:
        name, _, member = step.get("on", "").partition(".")
        client = way.client(filled(f"@{step.get('for', 'ann')}"), "planner")
        on = getattr(kept[name], member) if member else kept.get(name, client)
        method = getattr(on, to_snake(step["call"]))
        options = {to_snake(name): filled(held) for name, held in step.get("options", {}).items()}
        return way.run(lambda: listed(method(*filled(step.get("with", [])), **options)))

    for step in STORIES[story]:
        if "throws" in step:
            with pytest.raises(ApiError) as caught:
                result(step)
            told = {name: getattr(caught.value, name) for name in step["throws"] if name != "name"}
            assert {"name": type(caught.value).__name__, **told} == step["throws"], step
            continue
        given = result(step)
        match step.get("as"):
            case str(name):
                kept[name] = given
            case list(several):
                kept |= zip(several, given, strict=True)
        if "texts" in step:
            assert [text_of(entry) for entry in given] == step["texts"], step
        if "gives" in step:
            assert shown(given, filled(step["gives"])) == filled(step["gives"]), step


def listed(made: Any) -> Any:
    """Return all that a list holds; anything else as it is."""
    every: Callable[[], Any] | None = getattr(made, "list", None)
    return made if every is None else every()


def shown(given: Any, expected: Any) -> Any:
    """Return of a result what is expected of it, as JSON; of a conversation its id."""
    match given:
        case Conversation() | AsyncConversation():
            return given.id
        case Value():
            return shown(plain(given), expected)
        case Tree():
            return shown(given._asdict(), expected)
        case dict() if isinstance(expected, dict):
            return {name: shown(given.get(name), inner) for name, inner in expected.items()}
        case list() | tuple() if isinstance(expected, list) and len(given) == len(expected):
            return [shown(one, inner) for one, inner in zip(given, expected, strict=True)]
    return given
