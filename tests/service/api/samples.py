"""What the models of requests say of each field and parameter, and values for it.

Tests that ask with every field read the names and the values here, so a new field needs no line in
them. Where the schema leads to no good value, the value is written here. A test fails without it.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel, RootModel

from forklore_service.api import operations
from forklore_service.api.operation import Operation

Json = Any

PAGING = frozenset({"limit", "afterCursor", "beforeCursor", "wait"})
"""The parameters that choose a page and its time, and not what the list holds."""
AUDITED = frozenset({"justification"})
"""The parameters that are logged and have no other effect: tests/service/aws/test_admin.py."""
WITHOUT_EFFECT = frozenset({"missing"})
"""The parameters that say what is answered where there is nothing to list: tools/catalogue.py."""

TEXTS: Mapping[str, str] = {
    "query": "one of",
    "userId": "ann",
    "conversationId": "00000000-0000-4000-8000-000000000002",
    "name": "trip again",
    "prefix": "trip",
    "channel": "history",
    "upToEntryId": "<first>",
    "agentId": "travel",
    "tag": "kind:trip",
    "createdSince": "<begun>",
    "startedByEntryId": "<first>",
    "entryId": "<first>",
}
"""A value of a filter, in the world of test_parameters.py: of each free text, and of any other
filter whose last value leaves nothing beside the rest of these."""


def names_of(model: type[BaseModel]) -> list[str]:
    """Return the names of a model's fields on the wire."""
    return [field.alias or name for name, field in model.model_fields.items()]


def bodies_of(operation: Operation) -> list[type[BaseModel]]:
    """Return the models of an operation's body: none, one, or several that it chooses from."""
    model = operation.body
    if model is None or not issubclass(model, RootModel):
        return [] if model is None else [model]
    return list(_models_in(model.model_fields["root"].annotation))


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the models that a union of annotated types is made of."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in getattr(annotation, "__args__", ()):
        yield from _models_in(part)


@cache
def schemas_of(model: type[BaseModel]) -> dict[str, list[Json]]:
    """Return for each field the schemas that a value may fit, by its name on the wire; no null."""
    document = model.model_json_schema()
    definitions = document.get("$defs", {})
    return {
        name: list(_choices(schema, definitions)) for name, schema in document.get("properties", {}).items()
    }


def _choices(schema: Json, definitions: Json) -> Iterator[Json]:
    if "$ref" in schema:
        yield from _choices(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    elif "anyOf" in schema:
        for choice in schema["anyOf"]:
            yield from _choices(choice, definitions)
    elif schema != {"type": "null"}:
        yield schema


def words_of(schemas: list[Json]) -> list[Json]:
    """Return all values of a field that has few: the names of an enumeration, or true and false."""
    words: list[Json] = []
    for schema in schemas:
        words += schema.get("enum", [schema["const"]] if "const" in schema else [])
        words += [True, False] if schema.get("type") == "boolean" else []
    return words


def good_values(name: str, schemas: list[Json]) -> list[Json]:
    """Return two or more values that a field takes; none if its schemas lead to none."""
    if words := words_of(schemas):
        return words
    for schema in schemas:
        if schema.get("type") == "string" and "pattern" not in schema:
            return [text[: schema.get("maxLength")] for text in (f"another {name}", f"some {name}")]
        if schema.get("type") == "integer":
            low = schema.get("minimum", 0)
            return [low, min(low + 3, schema.get("maximum", low + 3))]
    return []


def edges_of(schemas: list[Json]) -> list[Json]:
    """Return values at the edges of what a field may be, within and without."""
    edges: list[Json] = []
    for schema in schemas:
        words = words_of([schema])
        edges += [*words, *(word.swapcase() for word in words if isinstance(word, str))]
        if schema.get("type") == "integer":
            low, high = schema.get("minimum", 0), schema.get("maximum", 2**53)
            edges += [low, high, low + (high - low) // 4, low - 1, high + 1]
        elif schema.get("type") == "string" and not words:
            shortest, longest = schema.get("minLength", 0), schema.get("maxLength", 100)
            edges += ["x" * max(shortest, 1), "é\n", "", "x" * longest, "x" * (longest + 1)]
    return edges


@cache
def filters_of(operation: Operation) -> dict[str, list[Json]]:
    """Return the parameters that choose what a list holds, each with its values but the default."""
    schemas, document = schemas_of(operation.query), operation.query.model_json_schema()["properties"]
    return {
        name: [word for word in words_of(schemas[name]) if word != document[name].get("default")]
        for name in schemas
        if name not in PAGING | AUDITED | WITHOUT_EFFECT
    }


def value_of(name: str, words: list[Json]) -> Json:
    """Return a value of a filter. words: those of its schema. Raises AssertionError without any."""
    assert words or name in TEXTS, f"write a value for {name!r} into TEXTS in tests/service/api/samples.py"
    return TEXTS[name] if name in TEXTS else words[-1]


LISTS = [one for one in operations.ALL if "afterCursor" in one.query_names]
"""The operations that list something."""
