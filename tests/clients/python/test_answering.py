"""From answers to results and errors, also from answers that are not forklore's."""

import copy
import json
import pickle
from dataclasses import asdict, replace
from typing import Any

import pytest

from forklore.client import errors
from forklore.client.calls import RawAnswer
from forklore.client.decoding import failure, nothing, result_of
from forklore.client.errors import ApiError, UnexpectedAnswerError
from forklore.client.generated import results
from forklore.client.messages import id_of, message, role_of, text_of

STATUSES = {
    400: errors.BadRequestError,
    401: errors.UnauthorizedError,
    403: errors.ForbiddenError,
    404: errors.NotFoundError,
    409: errors.ConflictError,
    412: errors.PreconditionFailedError,
    413: errors.TooLargeError,
    422: errors.MismatchError,
    500: errors.ServerError,
    502: errors.ServerError,
    503: errors.UnavailableError,
    504: errors.ServerError,
    418: errors.ApiError,
    302: errors.ApiError,
}
NAME = {
    "name": "trip",
    "conversationId": "c1",
    "data": None,
    "revision": 3,
    "createdAt": "t1",
    "updatedAt": "t2",
}


def error_answer(status: int, **body: Any) -> RawAnswer:
    return RawAnswer(status, json.dumps(body), request_id="of the header", attempts=2)


@pytest.mark.parametrize(("status", "kind"), STATUSES.items())
def test_an_error_has_the_kind_and_the_status_of_its_answer(status: int, kind: type[ApiError]) -> None:
    error = failure(error_answer(status, code="some_code", details={"message": "because", "x": 1}))

    assert type(error) is kind
    assert (error.status, error.code, error.message, error.attempts) == (status, "some_code", "because", 2)
    assert error.details == {"x": 1}
    assert str(error) == f"{status} some_code: because [request of the header]"


def test_an_error_names_reason_field_and_the_services_request_id() -> None:
    details = {"message": "somebody was faster", "reason": "stale", "field": "If-Match"}
    error = failure(error_answer(409, code="conflict", requestId="of the body", details=details))

    assert (error.reason, error.field, error.request_id) == ("stale", "If-Match", "of the body")
    assert str(error) == "409 conflict: somebody was faster (If-Match) [request of the body]"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"message":"Not Found"}', "Not Found"),
        ('{"message":"Internal Server Error"}', "Internal Server Error"),
        ('{"error":"Bad Request"}', "Bad Request"),
        ("<html><h1>502 Bad Gateway</h1></html>", "no explanation"),
        ("", "no explanation"),
        ("[]", "no explanation"),
        ("null", "no explanation"),
        ('{"message":5,"details":[],"code":{},"requestId":7}', "no explanation"),
    ],
)
def test_an_error_that_is_not_forklores_is_read_as_far_as_it_goes(text: str, said: str) -> None:
    error = failure(RawAnswer(502, text, request_id="r"))

    assert (error.message, error.code, error.reason, error.field, error.request_id) == (
        said,
        "",
        None,
        None,
        "r",
    )
    assert str(error) == f"502: {said} [request r]"


def test_a_long_explanation_is_cut() -> None:
    assert len(failure(error_answer(400, details={"message": "x" * 10_000})).message) == 300


def test_every_error_of_an_answer_is_an_api_error_and_a_wrong_argument_is_a_value_error() -> None:
    assert all(issubclass(kind, ApiError) for kind in STATUSES.values())
    assert issubclass(errors.UnavailableError, errors.ServerError)
    assert issubclass(errors.InputError, ValueError)
    assert str(errors.InputError("too long", details={"field": "title"})) == "too long (title)"


@pytest.mark.parametrize("text", ["<html>", "{", "not json"])
def test_a_success_that_is_not_json_is_an_unexpected_answer(text: str) -> None:
    with pytest.raises(UnexpectedAnswerError, match="the answer 200 is not JSON"):
        result_of(RawAnswer(200, text), results.Name.of)


@pytest.mark.parametrize("text", ["", "[]", "null", '"text"', "5"])
def test_a_success_without_the_object_that_is_expected_is_an_unexpected_answer(text: str) -> None:
    with pytest.raises(UnexpectedAnswerError, match="no object where Name is expected"):
        result_of(RawAnswer(200, text), results.Name.of)


def test_a_success_without_a_body_is_none() -> None:
    assert result_of(RawAnswer(204, ""), nothing) is None


@pytest.mark.parametrize("status", [199, 300, 302, 404])
def test_only_200_to_299_is_a_success(status: int) -> None:
    with pytest.raises(ApiError):
        result_of(RawAnswer(status, json.dumps(NAME)), results.Name.of)


def test_a_result_keeps_members_that_it_does_not_know() -> None:
    name = results.Name.of({**NAME, "laterMember": [1], "other": None})

    assert name.extra == {"laterMember": [1], "other": None}
    assert (name.conversation_id, name.revision) == ("c1", 3)
    assert "laterMember" not in repr(name)


@pytest.mark.parametrize("missing", ["name", "conversationId", "revision"])
def test_a_result_without_a_member_that_every_answer_has_is_refused(missing: str) -> None:
    given = {name: held for name, held in NAME.items() if name != missing}

    with pytest.raises(UnexpectedAnswerError, match=f"no {missing} where Name is expected"):
        results.Name.of(given)


def test_results_inside_results_keep_unknown_members_too() -> None:
    page = results.NamePage.of({"data": [{**NAME, "new": 1}], "afterCursor": None, "total": 5})

    assert page.extra == {"total": 5}
    assert page.data[0].extra == {"new": 1}
    assert isinstance(page.data, tuple)


@pytest.mark.parametrize("data", [{}, "text", 5, [5], [None]])
def test_a_page_without_an_array_of_objects_is_refused(data: Any) -> None:
    with pytest.raises(UnexpectedAnswerError):
        results.NamePage.of({"data": data, "afterCursor": None})


def test_results_are_frozen_and_can_be_compared_copied_and_pickled() -> None:
    name = results.Name.of({**NAME, "new": 1})

    with pytest.raises(AttributeError):
        name.revision = 4  # type: ignore[misc]
    assert name == results.Name.of({**NAME, "new": 1}) != results.Name.of(NAME)
    assert pickle.loads(pickle.dumps(name)) == copy.deepcopy(name) == name


def test_errors_can_be_pickled_as_workers_of_a_pool_do() -> None:
    error = failure(error_answer(409, code="conflict", details={"message": "late", "reason": "stale"}))
    again = pickle.loads(pickle.dumps(error))

    assert (type(again), str(again), again.reason, again.status) == (type(error), str(error), "stale", 409)


def test_a_result_can_be_made_with_other_members_but_not_with_unknown_ones() -> None:
    name = results.Name.of({**NAME, "new": 1})

    assert (replace(name, revision=7).revision, asdict(name)["extra"]) == (7, {"new": 1})
    assert f"name={name.name!r}" in repr(name)
    with pytest.raises(TypeError, match="does not know them: color"):
        replace(name, color="red")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"misses members .*: conversation_id, "):
        results.Name(name="trip")  # type: ignore[call-arg]


# Messages


def entry(**more: Any) -> results.Entry:
    wire = {"id": "e1", "conversationId": "c1", "channel": "history", "contentType": "history", "content": []}
    needed = {"parentId": None, "userId": "ann", "clientId": None, "epoch": None, "createdAt": "t"}
    return results.Entry.of({**wire, **needed, **more})


@pytest.mark.parametrize(
    ("role", "stored", "read"),
    [
        ("user", "USER", "user"),
        ("Human", "USER", "user"),
        ("ai", "AI", "ai"),
        ("assistant", "AI", "ai"),
        ("SYSTEM", "SYSTEM", "system"),
        ("tool", "TOOL", "tool"),
    ],
)
def test_a_message_has_the_services_word_for_its_author(role: str, stored: str, read: str) -> None:
    content = message(role, "Hello")

    assert content == [{"role": stored, "text": "Hello"}]
    assert (role_of(entry(content=content)), text_of(entry(content=content))) == (read, "Hello")


@pytest.mark.parametrize("role", ["", "robot", "user "])
def test_another_author_is_refused_with_those_that_there_are(role: str) -> None:
    with pytest.raises(errors.InputError, match="role is one of user, human, ai, assistant, system, tool"):
        message(role, "x")


@pytest.mark.parametrize("text", [[], ["x"], [{}, None], {"type": "text"}, 5], ids=repr)
def test_a_message_says_a_text_or_parts(text: Any) -> None:
    with pytest.raises(errors.InputError, match="text is a str, not"):
        message("user", text)


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (
            {"content": [{"type": "text", "text": "What"}, {"type": "image_url"}, {"text": "is it?"}]},
            "What\nis it?",
        ),
        ({"content": [{"type": "image_url"}]}, None),
        ({"text": "", "content": [{"text": "part"}]}, "part"),
        ({"text": "own", "content": [{"text": "part"}]}, "own"),
        ({"text": "", "content": "x"}, ""),
        ({"content": [{"text": "part"}, "x"]}, None),
        ({"content": [{"text": 5}]}, None),
        ({"content": [{"type": "tool_result", "content": "wet"}]}, "wet"),
        ({"content": [{"type": "tool_result", "content": [{"type": "text", "text": "wet"}]}]}, "wet"),
        ({"content": [{"type": "tool_result", "content": {"rain": 1}}]}, '{"rain":1}'),
        ({"content": [{"type": "function_call_output", "output": "wet"}]}, "wet"),
        ({"text": "", "events": [{"type": "tool_result", "content": "wet"}]}, "wet"),
        ({"content": [{"type": "text", "text": "I look"}, {"type": "tool_use", "name": "sky"}]}, "I look"),
        ({"content": [{"type": "tool_use", "name": "sky"}]}, None),
    ],
)
def test_the_text_of_parts_is_that_of_all_of_them(said: dict[str, Any], text: str | None) -> None:
    assert text_of(entry(content=[said])) == text


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"content": ["text"]},
        {"content": [None]},
        {"content": [{"role": 5, "text": ["x"]}]},
        {"channel": "context", "content": [{"role": "USER", "text": "x"}]},
    ],
)
def test_an_entry_that_is_no_message_has_no_author_and_no_text(more: dict[str, Any]) -> None:
    assert (role_of(entry(**more)), text_of(entry(**more))) == (None, None)


def test_an_entry_is_named_by_itself_or_by_its_id() -> None:
    assert id_of(entry()) == id_of("e1") == "e1"
