"""The types of fields in requests, each with its rule and its schema in the API document."""

import base64
import re
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from forklore_service.domain import attachments, ids
from forklore_service.domain.attachments import check_name
from forklore_service.domain.epochs import EPOCH_MAX, NAMED_EPOCH_MAX
from forklore_service.domain.jsontext import JsonText
from forklore_service.domain.matching import Query, query_of
from forklore_service.domain.model import Channel
from forklore_service.domain.names import is_name
from forklore_service.domain.users import is_user_id
from forklore_service.limits import (
    ATTACHMENT_BYTES_MAX,
    ATTACHMENT_INLINE_BYTES_MAX,
    ATTACHMENT_NAME_BYTES_MAX,
    ELEMENTS_MAX,
    FORKS_AT_ONCE,
    KEY_CHARACTERS_MAX,
    METADATA_BYTES_MAX,
    NAME_BYTES_MAX,
    NOTE_CHARACTERS_MAX,
    NOTE_SCORE_MAX,
    TITLE_CHARACTERS_MAX,
    WAIT_SECONDS_MAX,
)

UUID_PATTERN = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
TIME_PATTERN = "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z$"
INTEGER_MAX = 2**53
TAGS_MAX = 50
NAME_DATA_BYTES_MAX = 4 * 1024
USAGE_BYTES_MAX = 1024
_DIGITS = re.compile("0|[1-9][0-9]{0,15}")


def _counted(value: Any) -> Any:
    """Return a whole number from the digits in a query string."""
    return int(value) if isinstance(value, str) and _DIGITS.fullmatch(value) else _whole(value)


def _whole(value: Any) -> Any:
    """Return 1.0 as 1. In JSON both are integers."""
    if isinstance(value, (Decimal, float)) and -INTEGER_MAX <= value <= INTEGER_MAX and value == int(value):
        return int(value)
    return value


def _truth(value: Any) -> Any:
    return {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value


def _channel(value: Any) -> Any:
    name = value.lower() if isinstance(value, str) else value
    if name not in tuple(Channel):
        raise ValueError("must be 'history' or 'context'")
    return Channel(name)


def in_any_case(*names: str) -> dict[str, Any]:
    """Return the schema of a text that is one of `names` in any case."""
    patterns = ["".join(f"[{letter}{letter.upper()}]" for letter in name) for name in names]
    description = " or ".join(f"`{name}`" for name in names) + ", in any case."
    return {"type": "string", "pattern": f"^({'|'.join(patterns)})$", "description": description}


def one_of(choices: type[StrEnum]) -> BeforeValidator:
    """Return the rule that a value names one of `choices`."""

    def choose(value: Any) -> Any:
        if value not in tuple(choices):
            raise ValueError(f"must be one of {', '.join(choices)}")
        return choices(value)

    return BeforeValidator(choose)


def _json_object(bytes_max: int) -> BeforeValidator:
    """Return the rule that a value is a JSON object of at most so many bytes."""

    def check(value: Any) -> Any:
        if not isinstance(value, JsonText) or not isinstance(value.value, dict):
            raise ValueError("must be a JSON object")
        if len(value.text.encode()) > bytes_max:
            raise ValueError(f"must be at most {bytes_max} bytes of JSON")
        return value

    return BeforeValidator(check)


def _json_array(value: Any) -> Any:
    if not isinstance(value, JsonText) or not isinstance(value.value, list):
        raise ValueError("must be a JSON array")
    return value


def _lower_uuid(value: str) -> str:
    if not ids.is_uuid(value):
        raise ValueError("must be a lower-case UUID")
    return value


NewId = Annotated[
    str, AfterValidator(_lower_uuid), WithJsonSchema({"type": "string", "pattern": UUID_PATTERN})
]
"""The id of something new. Anything but a lower-case UUID is 400."""

Cursor = str
"""A place in a list. Anything but a cursor of that list is `invalid_cursor`."""

NamedId = Annotated[str, Field(max_length=1000)]
"""The id of something that exists. An unknown one is 404, or 400 for a cursor."""


def _user_id(value: str) -> str:
    if not is_user_id(value):
        raise ValueError("must be non-blank text of at most 255 bytes without control characters")
    return value


USER_ID_SCHEMA = WithJsonSchema(
    {
        "type": "string",
        "maxLength": 255,
        "pattern": r"^[^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$",
        "description": "Not blank; at most 255 bytes; no control characters.",
    }
)
UserId = Annotated[str, AfterValidator(_user_id), USER_ID_SCHEMA]


def _few_tags(value: Any) -> Any:
    """Refuse too many tags before any is looked at: pydantic would collect an error for each."""
    if isinstance(value, dict) and len(value) > TAGS_MAX:
        raise ValueError(f"the number of its members must be at most {TAGS_MAX}")
    return value


Title = Annotated[str, Field(max_length=TITLE_CHARACTERS_MAX)]
AgentId = Annotated[str, Field(min_length=1, max_length=255)]
ContentType = Annotated[str, Field(min_length=1, max_length=127)]
Time = Annotated[str, Field(pattern=TIME_PATTERN)]
TagName = Annotated[str, Field(pattern=r"^[a-zA-Z0-9_.-]{1,64}$")]
Tags = Annotated[
    dict[TagName, Annotated[str, Field(max_length=256)]],
    BeforeValidator(_few_tags),
    WithJsonSchema(
        {
            "type": "object",
            "maxProperties": TAGS_MAX,
            "propertyNames": {"pattern": "^[a-zA-Z0-9_.-]{1,64}$"},
            "additionalProperties": {"type": "string", "maxLength": 256},
        }
    ),
]
TagFilter = Annotated[str, Field(pattern=r"^[a-zA-Z0-9_.-]{1,64}(:[\s\S]{0,256})?$")]
"""A tag that a conversation must have: `name`, or `name:value`."""
Metadata = Annotated[
    JsonText,
    _json_object(METADATA_BYTES_MAX),
    WithJsonSchema({"type": "object", "description": "At most 16 KB of JSON; comes back as it was sent."}),
]
Content = Annotated[
    JsonText,
    BeforeValidator(_json_array),
    WithJsonSchema(
        {"type": "array", "items": {}, "maxItems": ELEMENTS_MAX, "description": "Comes back as it was sent."}
    ),
]
Truth = Annotated[bool, BeforeValidator(_truth)]
ChannelName = Annotated[
    Channel,
    BeforeValidator(_channel),
    WithJsonSchema(in_any_case(*Channel)),
]


def _context_only(value: Any) -> Any:
    if _channel(value) is not Channel.CONTEXT:
        raise ValueError("must be 'context'")
    return Channel.CONTEXT


ContextOnly = Annotated[
    Literal[Channel.CONTEXT],
    BeforeValidator(_context_only),
    WithJsonSchema(in_any_case(Channel.CONTEXT)),
]
WHOLE = BeforeValidator(_whole)
"""The rule that 1.0 is the integer 1."""
Epoch = Annotated[int, Field(ge=1, le=NAMED_EPOCH_MAX), WHOLE]
Limit200 = Annotated[int, Field(ge=1, le=200), BeforeValidator(_counted)]
Limit1000 = Annotated[int, Field(ge=1, le=1000), BeforeValidator(_counted)]
Wait = Annotated[
    int,
    Field(
        ge=0,
        le=WAIT_SECONDS_MAX,
        description="Seconds for which a server on one machine may hold the request while nothing is new.",
    ),
    BeforeValidator(_counted),
]
Tokens = Annotated[int, Field(ge=0, le=INTEGER_MAX), WHOLE]
ForkCount = Annotated[int, Field(ge=2, le=FORKS_AT_ONCE), WHOLE]
"""How many equal forks to make at once."""

INDEXED_BYTES_MAX = 32 * 1024


def _indexed(value: str) -> str:
    if len(value.encode()) > INDEXED_BYTES_MAX:
        raise ValueError(f"must be at most {INDEXED_BYTES_MAX} bytes")
    return value


IndexedContent = Annotated[
    str,
    AfterValidator(_indexed),
    WithJsonSchema(
        {"type": "string", "maxLength": INDEXED_BYTES_MAX, "description": "At most 32 KB; never returned."}
    ),
]
"""The text by which a search finds an entry, beside its own."""


def _query(value: str) -> str:
    if query_of(value) == Query():
        raise ValueError("must hold a word")
    return value


SearchQuery = Annotated[
    str,
    Field(min_length=1, max_length=500),
    AfterValidator(_query),
    WithJsonSchema({"type": "string", "minLength": 1, "maxLength": 500, "pattern": r"\S"}),
]
"""The words to search for."""

FULLTEXT, SEMANTIC, AUTO = "fulltext", "semantic", "auto"
SEARCH_TYPES = (FULLTEXT, SEMANTIC)


def _search_types(value: Any) -> Any:
    """Return the ways of searching as a tuple of names."""
    if value in (AUTO, *SEARCH_TYPES):
        return (value,)
    if isinstance(value, list) and value and all(one in SEARCH_TYPES for one in value):
        return tuple(value)
    raise ValueError(f"must be auto, {FULLTEXT}, {SEMANTIC}, or an array of the last two")


SearchTypes = Annotated[
    tuple[str, ...],
    BeforeValidator(_search_types),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "enum": [AUTO, *SEARCH_TYPES]},
                {"type": "array", "items": {"type": "string", "enum": [*SEARCH_TYPES]}, "minItems": 1},
            ]
        }
    ),
]
"""How to search: any of these ways will do."""


def _exact(value: Any) -> Any:
    """Return a JSON number as an exact decimal."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise ValueError("must be a number")
    return Decimal(str(value)) if isinstance(value, float) else Decimal(value)


def _double(value: Any) -> Any:
    """Return a JSON number as a double, or as an integer where it is whole."""
    _exact(value)
    return int(value) if value == int(value) else float(value)


NoteText = Annotated[
    str,
    Field(min_length=1, max_length=NOTE_CHARACTERS_MAX, pattern=r"\S"),
]
"""What a note says: not only white space."""
Score = Annotated[int | float, BeforeValidator(_double), WithJsonSchema({"type": "number"})]


def _note_score(value: Any) -> Any:
    score = _double(value)
    if abs(score) > NOTE_SCORE_MAX:
        raise ValueError(f"must be between -{NOTE_SCORE_MAX} and {NOTE_SCORE_MAX}")
    return score


NoteScore = Annotated[
    int | float,
    BeforeValidator(_note_score),
    WithJsonSchema({"type": "number", "minimum": -NOTE_SCORE_MAX, "maximum": NOTE_SCORE_MAX}),
]


def _cost(value: Any) -> Any:
    cost = _exact(value)
    if not 0 <= cost <= 10**9:
        raise ValueError("must be between 0 and 1000000000")
    return cost


COST_SCHEMA = {"type": "number", "minimum": 0, "maximum": 10**9}
Cost = Annotated[Decimal, BeforeValidator(_cost), WithJsonSchema(COST_SCHEMA)]


def _epoch(value: Any) -> Any:
    if value in ("latest", "all"):
        return value
    epoch = _counted(value)
    if isinstance(epoch, bool) or not isinstance(epoch, int) or not 1 <= epoch <= EPOCH_MAX:
        raise ValueError(f"must be 'latest', 'all' or a whole number from 1 to {EPOCH_MAX}")
    return epoch


EpochChoice = Annotated[
    Literal["latest", "all"] | Annotated[int, Field(ge=1, le=EPOCH_MAX)], BeforeValidator(_epoch)
]
"""The epochs of the context to list: the latest, all of them, or the one with a number."""

EntryKey = Annotated[str, Field(min_length=1, max_length=KEY_CHARACTERS_MAX, pattern="^[ -~]*$")]
"""A key of an entry: printable ASCII characters."""


def _name(value: str) -> str:
    if not is_name(value):
        raise ValueError(f"must have 1 to {NAME_BYTES_MAX} bytes of UTF-8 and no control characters")
    return value


def _name_schema(least: int) -> WithJsonSchema:
    return WithJsonSchema(
        {
            "type": "string",
            "minLength": least,
            "maxLength": NAME_BYTES_MAX,
            "pattern": r"^[^\x00-\x1f\x7f-\x9f]*$",
            "description": f"At most {NAME_BYTES_MAX} bytes of UTF-8; no control characters.",
        }
    )


Name = Annotated[str, AfterValidator(_name), _name_schema(1)]
NamePrefix = Annotated[str, AfterValidator(lambda value: value and _name(value)), _name_schema(0)]
"""What names begin with. An empty text is the beginning of every name."""
NameData = Annotated[
    JsonText,
    _json_object(NAME_DATA_BYTES_MAX),
    WithJsonSchema({"type": "object", "description": "At most 4 KB of JSON; comes back as it was sent."}),
]


def _file_name(value: str) -> str:
    check_name(value)
    return value


FileName = Annotated[
    str,
    AfterValidator(_file_name),
    WithJsonSchema(
        {
            "type": "string",
            "minLength": 1,
            "maxLength": ATTACHMENT_NAME_BYTES_MAX,
            "pattern": r"^[^\x00-\x1f\x7f-\x9f/\\\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]*$",
            "description": f"At most {ATTACHMENT_NAME_BYTES_MAX} bytes of UTF-8; no slash, no control"
            " character, and none that turns the direction of text.",
        }
    ),
]
MediaType = Annotated[str, Field(max_length=attachments.TYPE_LETTERS_MAX, pattern=attachments.TYPE_PATTERN)]
Sha256 = Annotated[str, Field(pattern=attachments.SHA256_PATTERN)]
FileSize = Annotated[int, Field(ge=1, le=ATTACHMENT_BYTES_MAX), WHOLE]


def _bytes(value: Any) -> Any:
    """Return the bytes in base64, which a body has as JSON text."""
    text = value.value if isinstance(value, JsonText) else value
    try:
        content = base64.b64decode(text, validate=True) if isinstance(text, str) else None
    except ValueError:
        content = None
    if content is None:
        raise ValueError("must be bytes in base64")
    if len(content) > ATTACHMENT_INLINE_BYTES_MAX:
        raise ValueError(
            f"must be at most {ATTACHMENT_INLINE_BYTES_MAX} bytes; send larger ones to the store"
        )
    return content


Bytes = Annotated[
    bytes,
    BeforeValidator(_bytes),
    WithJsonSchema(
        {
            "type": "string",
            "contentEncoding": "base64",
            "pattern": "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
            "description": f"The bytes in base64, if these are at most {ATTACHMENT_INLINE_BYTES_MAX}.",
        }
    ),
]
Revision = Annotated[int, Field(ge=0, le=INTEGER_MAX), WHOLE]
"""A revision that the caller expects; 0: there is none yet."""
PositionInLog = Annotated[int, Field(ge=0, le=9_999), WHOLE]
"""A place in the log of an answer, or one that none has."""
PositionInQuery = Annotated[int, Field(ge=0, le=9_999), BeforeValidator(_counted)]
"""A `PositionInLog` in a query string, which has its digits."""
RevisionInQuery = Annotated[int, Field(ge=0, le=INTEGER_MAX), BeforeValidator(_counted)]
"""A `Revision` in a query string, which has its digits."""
