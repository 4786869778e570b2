"""What ADK's session services owe their callers, held beside its own service in memory, and forks.

ADK publishes no tests with its package. So each rule of its shared contract has a test here.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from google.adk.errors import InvocationNotFoundError, StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.sessions import InMemorySessionService
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig
from google.adk.sessions.session import Session
from google.genai import types

from forklore import AsyncForklore, role_of, text_of
from forklore.adapters.google_adk import ForkloreMemoryService, ForkloreSessionService
from tests.clients.adapters.services import Service
from tests.clients.adapters.wires import Killed, Wire

WHO: Any = {"app_name": "trip", "user_id": "ann"}
S: Any = {**WHO, "session_id": "s"}


@pytest.fixture
async def client(service: Service, user: str) -> AsyncIterator[AsyncForklore]:
    async with service.async_client(user) as made:
        yield made


@pytest.fixture(params=["forklore", "in memory"])
def adk(request: pytest.FixtureRequest, client: AsyncForklore) -> BaseSessionService:
    """Ours, and ADK's own: what a test says of ours holds for theirs."""
    return ForkloreSessionService(client) if request.param == "forklore" else InMemorySessionService()


@pytest.fixture
def ours(client: AsyncForklore) -> ForkloreSessionService:
    return ForkloreSessionService(client)


def said(text: str = "Hello.", invocation: str = "i1", author: str = "user", **more: Any) -> Event:
    content = types.Content(role="user" if author == "user" else "model", parts=[types.Part(text=text)])
    return Event(invocation_id=invocation, author=author, content=content, **more)


def changes(invocation: str = "i1", **more: Any) -> Event:
    return Event(
        invocation_id=invocation,
        author="guide",
        actions=EventActions(state_delta={key.replace("__", ":"): value for key, value in more.items()}),
    )


async def got(service: BaseSessionService, session_id: str = "s", **config: Any) -> Session:
    found = await service.get_session(**WHO, session_id=session_id, config=GetSessionConfig(**config))
    assert found is not None
    return found


def texts(session: Session) -> list[str]:
    return [one.content.parts[0].text or "" for one in session.events if one.content and one.content.parts]


# What every service owes


async def test_a_session_is_created_read_and_deleted(adk: BaseSessionService) -> None:
    assert await adk.get_session(**S) is None
    made = await adk.create_session(**WHO, state={"a": [1, None], "temp:x": 1})
    assert made.state == {"a": [1, None]}
    assert await adk.get_session(**WHO, session_id=made.id) == made
    with pytest.raises(AlreadyExistsError):
        await adk.create_session(**WHO, session_id=made.id)
    for _ in range(2):  # of what is not there it says nothing
        await adk.delete_session(**WHO, session_id=made.id)
        assert await adk.get_session(**WHO, session_id=made.id) is None
        assert (await adk.list_sessions(**WHO)).sessions == []
    again = await adk.create_session(**WHO, session_id=made.id)
    assert again.state == {}


async def test_white_space_around_an_id_does_not_count(adk: BaseSessionService) -> None:
    made = await adk.create_session(**WHO, session_id="  s ")
    assert made.id == "s"
    assert await adk.get_session(**WHO, session_id=" s") == made
    with pytest.raises(AlreadyExistsError):
        await adk.create_session(**WHO, session_id="s ")
    await adk.delete_session(**WHO, session_id=" s ")
    assert await adk.get_session(**S) is None
    assert (await adk.create_session(**WHO, session_id="  ")).id.strip()


async def test_users_and_apps_have_sessions_of_their_own(adk: BaseSessionService) -> None:
    ids = [("a", "u/v", "s"), ("a", "u", "v/s"), ("a/u", "v", "s"), ("a", "u%2Fv", "s"), ("b", "u", "s")]
    for number, (app, user, session_id) in enumerate(ids):
        made = await adk.create_session(
            app_name=app, user_id=user, session_id=session_id, state={"n": number, "user:n": number}
        )
        await adk.append_event(made, said(str(number)))
    for number, (app, user, session_id) in enumerate(ids):
        read = await adk.get_session(app_name=app, user_id=user, session_id=session_id)
        assert read is not None
        assert texts(read) == [str(number)]
        [listed] = (await adk.list_sessions(app_name=app, user_id=user)).sessions if user != "u" else [read]
        assert listed.id == session_id
        assert listed.state["n"] == number


async def test_the_list_is_ordered_and_has_states_and_no_events(adk: BaseSessionService) -> None:
    for user, session_id, at in (("ann", "s1", 30.0), ("ann", "s2", 10.0), ("bob", "s0", 20.0)):
        made = await adk.create_session(
            app_name="trip", user_id=user, session_id=session_id, state={"s": session_id, "user:u": user}
        )
        await adk.append_event(made, said(timestamp=at))
    mine = (await adk.list_sessions(**WHO)).sessions
    assert [(one.id, one.state, one.events) for one in mine] == [
        ("s2", {"s": "s2", "user:u": "ann"}, []),
        ("s1", {"s": "s1", "user:u": "ann"}, []),
    ]
    everybody = (await adk.list_sessions(app_name="trip")).sessions
    assert [(one.user_id, one.id, one.last_update_time) for one in everybody] == [
        ("ann", "s2", 10),
        ("bob", "s0", 20),
        ("ann", "s1", 30),
    ]
    assert (await adk.list_sessions(app_name="none")).sessions == []


async def test_each_scope_of_the_state_reaches_whom_it_is_for(adk: BaseSessionService) -> None:
    first = await adk.create_session(**S, state={"k": 0, "user:k": 1, "app:k": 2})
    await adk.append_event(first, changes(own=3, user__own=4, app__own=5, temp__own=6))
    assert first.state["temp:own"] == 6  # for this invocation
    assert first.events[0].actions.state_delta == {"own": 3, "user:own": 4, "app:own": 5}
    shared = {"user:k": 1, "user:own": 4, "app:k": 2, "app:own": 5}
    read = await got(adk)
    assert read.state == {"k": 0, "own": 3} | shared
    assert read.events[0].actions.state_delta == {"own": 3, "user:own": 4, "app:own": 5}
    assert (await adk.create_session(**WHO, session_id="t")).state == shared
    other = await adk.create_session(app_name="trip", user_id="bob")
    assert other.state == {"app:k": 2, "app:own": 5}
    assert (await adk.create_session(app_name="other", user_id="ann")).state == {}
    assert await adk.get_user_state(**WHO) == {"k": 1, "own": 4}
    assert await adk.get_user_state(app_name="trip", user_id="carl") == {}
    await adk.delete_session(**S)
    assert await adk.get_user_state(**WHO) == {"k": 1, "own": 4}


async def test_an_event_comes_back_equal(adk: BaseSessionService) -> None:
    made = await adk.create_session(**S)
    call = types.FunctionCall(id="c", name="pay", args={"euros": 3, "none": None})
    event = Event(
        id="not a uuid é",
        invocation_id="i",
        author="guide",
        branch="a.b",
        timestamp=1234.567891,
        content=types.Content(
            role="model",
            parts=[
                types.Part(text="half \ud83d"),
                types.Part(function_call=call, thought_signature=b"\xff\x00"),
                types.Part.from_bytes(
                    data=b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 200, mime_type="image/png"
                ),
            ],
        ),
        turn_complete=True,
        partial=False,
        long_running_tool_ids={"c", "d"},
        error_code="e",
        custom_metadata={"deep": [[{"x": None}]]},
        grounding_metadata=types.GroundingMetadata(web_search_queries=["q"]),
        usage_metadata=types.GenerateContentResponseUsageMetadata(prompt_token_count=1),
        actions=EventActions(
            artifact_delta={"f": 0}, transfer_to_agent="b", escalate=True, state_delta={"none": None}
        ),
    )
    assert await adk.append_event(made, event) == event
    assert (made.last_update_time, made.state) == (event.timestamp, {"none": None})
    assert await got(adk) == made
    assert (await got(adk)).events == [event]


async def test_a_partial_event_is_not_stored(adk: BaseSessionService) -> None:
    made = await adk.create_session(**S)
    await adk.append_event(made, Event(author="guide", partial=True))
    assert (made.events, (await got(adk)).events) == ([], [])


async def test_only_the_events_that_are_asked_for_are_returned(adk: BaseSessionService) -> None:
    made = await adk.create_session(**S, state={"n": 0})
    for number in range(1, 6):
        await adk.append_event(made, changes(n=number).model_copy(update={"timestamp": float(number)}))

    async def times(**config: Any) -> list[float]:
        read = await got(adk, **config)
        assert read.state == {"n": 5}
        return [one.timestamp for one in read.events]

    assert await times() == [1, 2, 3, 4, 5]
    assert await times(num_recent_events=3) == [3, 4, 5]
    assert await times(num_recent_events=9) == [1, 2, 3, 4, 5]
    assert await times(num_recent_events=0) == []
    assert await times(after_timestamp=4.0) == [4, 5]
    assert await times(after_timestamp=50.0) == []
    assert await times(after_timestamp=4.0, num_recent_events=3) == [4, 5]


async def test_the_same_event_again_is_not_stored_again(adk: BaseSessionService) -> None:
    made = await adk.create_session(**S)
    event = said()
    for given in (event, event.model_copy(deep=True)):
        assert await adk.append_event(made, given) == event
    assert (await got(adk)).events == [event]


async def test_events_of_one_id_change_the_shared_state_each(adk: BaseSessionService) -> None:
    one, other = await adk.create_session(**S), await adk.create_session(**WHO, session_id="t")
    first = Event(id="e", author="guide", actions=EventActions(state_delta={"user:n": 1, "app:n": 1}))
    second = Event(id="e", author="guide", actions=EventActions(state_delta={"user:n": 2, "app:n": 2}))
    await adk.append_event(one, first.model_copy(deep=True))
    await adk.append_event(one, second)
    assert (await got(adk)).state == {"user:n": 2, "app:n": 2}
    await adk.append_event(other, first)  # the same event in another session
    assert (await got(adk)).state == {"user:n": 1, "app:n": 1}


async def test_tasks_that_share_a_session_append_one_after_another(adk: BaseSessionService) -> None:
    made = await adk.create_session(**S)  # as tools of a live run do
    await asyncio.gather(*(adk.append_event(made, said(str(at))) for at in range(4)))
    assert sorted(texts(made)) == ["0", "1", "2", "3"]
    assert (await got(adk)).events == made.events


async def test_nothing_is_appended_to_a_session_that_is_not_there(adk: BaseSessionService) -> None:
    gone = await adk.create_session(**S)
    await adk.delete_session(**S)
    for session in (gone, Session(id="never", **WHO)):
        with pytest.raises(SessionNotFoundError):
            await adk.append_event(session, said())
        assert await adk.get_session(**WHO, session_id=session.id) is None
    assert (await adk.list_sessions(**WHO)).sessions == []


# Two writers; a service in memory has no word for these


async def test_a_stale_session_is_refused(ours: ForkloreSessionService) -> None:
    mine = await ours.create_session(**S)
    theirs = await got(ours)
    await ours.append_event(mine, said("first"))
    with pytest.raises(StaleSessionError, match="get it again"):
        await ours.append_event(theirs, changes(app__k=1, k=2))
    assert theirs.events == []
    read = await got(ours)
    assert (texts(read), read.state) == (["first"], {})
    await ours.append_event(read, said("second"))
    assert texts(await got(ours)) == ["first", "second"]


async def test_of_many_writers_one_appends(ours: ForkloreSessionService) -> None:
    await ours.create_session(**S)
    writers = [await got(ours) for _ in range(6)]
    done = await asyncio.gather(
        *(ours.append_event(one, said(str(at))) for at, one in enumerate(writers)), return_exceptions=True
    )
    stored = [one for one in done if isinstance(one, Event)]
    assert [type(one) for one in done if not isinstance(one, Event)] == [StaleSessionError] * 5
    assert (await got(ours)).events == stored


async def test_a_session_made_by_hand_is_taken_if_it_is_not_behind(ours: ForkloreSessionService) -> None:
    made = await ours.create_session(**S)
    await ours.append_event(made, said("first"))
    with pytest.raises(StaleSessionError):
        await ours.append_event(Session(id="s", **WHO), said("lost"))
    by_hand = Session(id="s", **WHO, events=list(made.events))
    await ours.append_event(by_hand, said("second"))
    assert texts(await got(ours)) == ["first", "second"]


# Forks and rewinds


async def turns(service: BaseSessionService, *, count: int = 3) -> Session:
    """Make a session with turns i1, i2, …: each a question, a change of state and an answer."""
    made = await service.create_session(**S, state={"city": "Lisbon", "user:home": "Porto"})
    for number in range(1, count + 1):
        await service.append_event(made, said(f"question {number}", f"i{number}"))
        await service.append_event(made, changes(f"i{number}", **{"turn": number, f"t{number}": True}))
        await service.append_event(made, said(f"answer {number}", f"i{number}", "guide"))
    return made


def rewound(before: str, **delta: Any) -> Event:
    """Return what ADK's runner appends for a rewind, with a delta that it has computed."""
    actions = EventActions(rewind_before_invocation_id=before, state_delta=delta, artifact_delta={"plan": 4})
    return Event(invocation_id="r1", author="user", actions=actions)


async def test_a_fork_before_an_invocation_has_the_state_of_then(
    ours: ForkloreSessionService, client: AsyncForklore
) -> None:
    source = await turns(ours)
    fork = await ours.fork(source, session_id="f", before_invocation="i2")
    assert texts(fork) == ["question 1", "answer 1"]
    assert fork.state == {"city": "Lisbon", "turn": 1, "t1": True, "user:home": "Porto"}
    await ours.append_event(fork, said("another", "i2"))
    assert texts(await got(ours, "f")) == ["question 1", "answer 1", "another"]
    assert await got(ours) == source
    whole = await ours.fork(source)
    assert (whole.events, whole.state) == (source.events, source.state)
    assert len({"s", "f", whole.id} & {one.id for one in (await ours.list_sessions(**WHO)).sessions}) == 3
    with pytest.raises(AlreadyExistsError):
        await ours.fork(source, session_id="f")
    with pytest.raises(InvocationNotFoundError):
        await ours.fork(source, before_invocation="i9")
    await ours.delete_session(**S)
    assert texts(await got(ours, "f")) == ["question 1", "answer 1", "another"]
    with pytest.raises(SessionNotFoundError):
        await ours.fork(source)


async def test_a_fork_before_an_invocation_that_a_rewind_takes_away_meanwhile(
    ours: ForkloreSessionService, client: AsyncForklore
) -> None:
    source = await turns(ours)

    class Late(ForkloreSessionService):
        async def _read(self, name: str, **how: Any) -> Any:
            if (session := await got(ours)) == source:
                await ours.append_event(session, rewound("i2"))
                await ours.append_event(session, said("another", "i3"))
            return await super()._read(name, **how)

    fork = await Late(client).fork(source, session_id="f", before_invocation="i3")
    assert texts(fork) == ["question 1", "answer 1", "question 2", "answer 2"]
    assert texts(await got(ours)) == ["question 1", "answer 1", "another"]


async def test_a_rewind_is_a_fork_with_the_state_of_creation(
    ours: ForkloreSessionService, client: AsyncForklore
) -> None:
    session = await turns(ours)
    left = await client.named("google-adk/trip/ann/s").resolve()
    await ours.append_event(session, rewound("i2", city=None, turn=1, t2=None, t3=None))
    assert session.state == {"city": "Lisbon", "turn": 1, "t1": True, "user:home": "Porto"}
    assert texts(session) == ["question 1", "answer 1"]
    assert session.events[-1].actions.artifact_delta == {"plan": 4}
    assert await got(ours) == session
    await ours.append_event(session, said("another", "i4"))
    assert texts(await got(ours)) == ["question 1", "answer 1", "another"]
    kept = [text_of(one) async for one in client.conversation(left).entries() if text_of(one)]
    assert kept[-1] == "answer 3"
    with pytest.raises(AlreadyExistsError):
        await ours.create_session(**S)
    # What a rewind has left goes with the session.
    await ours.append_event(session, rewound("i1"))
    assert session.state == {"city": "Lisbon", "user:home": "Porto"}
    await ours.delete_session(**S)
    assert [one.id async for one in client.conversations(mode="all")] == [
        await client.named("google-adk/trip/ann").resolve()
    ]


async def test_a_rewind_of_a_stale_session_is_refused(ours: ForkloreSessionService) -> None:
    session = await turns(ours, count=2)
    other = await got(ours)
    await ours.append_event(session, said("late", "i3"))
    with pytest.raises(StaleSessionError):
        await ours.append_event(other, rewound("i2"))
    await ours.append_event(session, rewound("i2"))
    with pytest.raises(StaleSessionError):
        await ours.append_event(other, said("lost"))
    with pytest.raises(InvocationNotFoundError):
        await ours.append_event(session, rewound("i2"))


async def test_a_rewind_whose_answer_was_lost_is_not_done_again(ours: ForkloreSessionService) -> None:
    session = await turns(ours)
    event = rewound("i2", turn=1)
    await ours.append_event(session.model_copy(deep=True), event.model_copy(deep=True))
    await ours.append_event(session, event)
    assert texts(session) == ["question 1", "answer 1"]
    assert await got(ours) == session
    await ours.append_event(session, said("another", "i4"))
    assert texts(await got(ours)) == ["question 1", "answer 1", "another"]


# Requests, kills and what is seen


@pytest.mark.parametrize("what", ["append", "rewind", "fork", "delete"])
async def test_a_kill_after_any_request_leaves_a_whole_session(
    service: Service, user: str, what: str
) -> None:
    calls: dict[str, Callable[[ForkloreSessionService, Session], Any]] = {
        "append": lambda adk, session: adk.append_event(session, changes("i3", turn=3, user__k=1, app__k=2)),
        "rewind": lambda adk, session: adk.append_event(session, rewound("i2")),
        "fork": lambda adk, session: adk.fork(session, session_id="f", before_invocation="i2"),
        "delete": lambda adk, session: adk.delete_session(**WHO, session_id=session.id),
    }
    for lives in range(9):
        async with service.async_client(f"{user}-{lives}") as client:
            adk, wire = ForkloreSessionService(client), Wire()
            killed = ForkloreSessionService(wire.wrapped_async(client))
            session = await turns(adk, count=2)
            event_count = len(session.events)
            wire.lives = lives
            try:
                await calls[what](killed, session.model_copy(deep=True))
            except Killed:
                is_done = False
            else:
                is_done = True
            read = await adk.get_session(**S)
            if what == "delete":
                await adk.delete_session(**S)
                assert await adk.get_session(**S) is None
                await adk.create_session(**S)
            else:
                assert read is not None
                shown = {"append": event_count + 1, "rewind": 4, "fork": event_count}[what]
                assert len(read.events) in ({shown} if is_done else {shown, event_count})
                assert read.state["turn"] == len([one for one in texts(read) if one.startswith("q")]) or (
                    what == "append"
                )
                await adk.append_event(read, said("goes on", "i9"))
                assert texts(await got(adk))[-1] == "goes on"
            if is_done:
                return
    raise AssertionError("it never ends")


async def test_an_append_whose_answer_was_lost_is_ended_by_the_next(service: Service, user: str) -> None:
    async with service.async_client(user) as client:
        adk, wire = ForkloreSessionService(client), Wire()
        session = await adk.create_session(**S)
        wire.lives = 1  # the event is stored, and not yet what users share
        event = changes(k=(1, 2), user__k=2)  # as JSON has it, it is a list
        with pytest.raises(Killed):
            await ForkloreSessionService(wire.wrapped_async(client)).append_event(session, event)
        assert session.events == []
        for _ in range(2):
            await adk.append_event(session, event)
        read = await got(adk)
        assert [one.id for one in read.events] == [event.id]
        assert read.state == {"k": [1, 2], "user:k": 2}


async def test_a_fork_costs_as_much_for_many_events_as_for_few(service: Service, user: str) -> None:
    sent = []
    for count in (1, 9):
        async with service.async_client(f"{user}-{count}") as client:
            adk, wire = ForkloreSessionService(client), Wire()
            session = await turns(adk, count=count)
            await ForkloreSessionService(wire.wrapped_async(client)).fork(session)
            sent.append(wire.sent)
    assert sent[0] == sent[1]
    assert len(sent[0]) == 5  # two to fork it, three to read it


async def test_shared_state_is_read_from_its_last_whole(
    ours: ForkloreSessionService, client: AsyncForklore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("forklore.adapters.google_adk.CHANGES_MAX", 9)
    session = await ours.create_session(**S)
    wanted = {}
    for number in range(12):
        wanted[f"k{number % 7}"] = number
        await ours._share("trip", "ann", {"app": {}, "user": {f"k{number % 7}": number}}, str(number))
    for _ in range(2):
        assert await ours.get_user_state(**WHO) == wanted
    assert session.state == {}
    entries = [one async for one in client.named("google-adk/trip/ann").entries(channel="history")]
    assert len(entries) == 13
    # What is too much for one entry is read from its changes.
    for number in range(12):
        await ours._share(
            "trip", "ann", {"app": {}, "user": {f"big{number}": "x" * 300_000}}, f"big {number}"
        )
    for _ in range(2):
        assert len(await ours.get_user_state(**WHO)) == 7 + 12


async def test_a_session_goes_on_behind_what_a_person_writes(
    ours: ForkloreSessionService, client: AsyncForklore
) -> None:
    session = await turns(ours, count=2)
    await client.named("google-adk/trip/ann/s").say("user", "A note.")
    with pytest.raises(StaleSessionError):
        await ours.append_event(session, said("too soon"))
    read = await got(ours)
    assert read.events == session.events
    await ours.append_event(read, said("third", "i3"))
    await client.named("google-adk/trip/ann/s").say("user", "Another note.")
    read = await got(ours)
    await ours.append_event(read, rewound("i2"))
    await ours.append_event(read, said("after it", "i4"))
    assert texts(await got(ours)) == ["question 1", "answer 1", "after it"]


async def test_users_with_clients_of_their_own_share_the_state_of_the_app(
    service: Service, user: str
) -> None:
    async with (
        service.async_client(f"{user}-ann") as ann,
        service.async_client(f"{user}-bob") as bob,
        service.async_client(f"{user}-app") as app,
    ):
        anns, bobs = (ForkloreSessionService(one, app_client=app) for one in (ann, bob))
        await anns.create_session(**S, state={"app:motto": "Go!", "user:k": 1, "k": 2})
        assert (await bobs.create_session(**S)).state == {"app:motto": "Go!"}
        # Neither is a member of the conversation that keeps it.
        assert [one.name async for one in bob.names()] == ["google-adk/trip/ann/s"]
        assert [one.name async for one in app.names()] == ["google-adk/trip"]
        assert (await ForkloreSessionService(ann).create_session(**WHO)).state == {"user:k": 1}


async def test_people_see_who_said_what(ours: ForkloreSessionService, client: AsyncForklore) -> None:
    session = await ours.create_session(**S)
    call = types.FunctionCall(name="pay", args={"euros": 3})
    returned = types.FunctionResponse(name="pay", response={"result": "paid"})
    parts = [types.Part(function_call=call)], [types.Part(function_response=returned)]
    await ours.append_event(session, said("Pay 3."))
    for some, author in zip(parts, ("guide", "guide"), strict=True):
        content = types.Content(role="model", parts=some)
        await ours.append_event(session, Event(invocation_id="i1", author=author, content=content))
    await ours.append_event(session, said("Done.", author="guide"))
    named = client.named("google-adk/trip/ann/s")
    shown = [(role_of(one), text_of(one)) async for one in named.entries() if text_of(one)]
    assert shown == [
        ("user", "Pay 3."),
        ("ai", "[calls pay {'euros': 3}]"),
        ("system", "[returned {'result': 'paid'}]"),
        ("ai", "Done."),
    ]


async def test_the_memory_finds_what_the_sessions_of_the_user_show_now(
    client: AsyncForklore, ours: ForkloreSessionService
) -> None:
    memory = ForkloreMemoryService(client, hits=3)
    session = await ours.create_session(**S)
    await ours.append_event(session, said("The hotel in Lisbon."))
    await ours.append_event(session, said("A hotel with a quiet yard.", "i2", "guide"))
    fork = await ours.fork(session, session_id="fork", before_invocation="i2")
    await ours.append_event(fork, said("No hotel but a boat.", "i3"))
    others = await ours.create_session(app_name="trip", user_id="ann/2", session_id="s")
    await ours.append_event(others, said("A hotel of somebody else."))
    await memory.add_session_to_memory(session)

    async def found(query: str = "hotel") -> set[tuple[str | None, str | None]]:
        answer = await memory.search_memory(**WHO, query=query)
        return {(one.author, text_in(one.content)) for one in answer.memories}

    lisbon, yard = ("user", "The hotel in Lisbon."), ("guide", "A hotel with a quiet yard.")
    boat = ("user", "No hotel but a boat.")
    assert await found() == {lisbon, yard, boat}
    assert await found("?") == await found(" ") == set()
    await ours.delete_session(**WHO, session_id="s")
    assert await found() == {lisbon, boat}


@pytest.mark.parametrize("by_meaning", [False, True])
async def test_hits_of_several_sessions_are_ranked_together(by_meaning: bool) -> None:
    def lengths(given: list[str]) -> list[list[float]]:
        return [[float(len(text)), 20.0] for text in given]

    async with AsyncForklore.local(user="ann", recall=lengths if by_meaning else None) as client:
        ours, memory = ForkloreSessionService(client), ForkloreMemoryService(client, hits=3)
        short, long = [await ours.create_session(**WHO, session_id=one) for one in ("short", "long")]
        good = ["The hotel in Lisbon.", "A hotel of Lisbon!!", "Lisbon has a hotel."]
        for text in good:
            await ours.append_event(short, said(text))
        for number in range(20):  # among these, a word of the question is rare
            await ours.append_event(long, said(f"{number} {'of other things ' * 20}"))
        await ours.append_event(long, said(f"One hotel {'and other things ' * 20}"))
        answer = await memory.search_memory(**WHO, query="a hotel in Lisbon")
        assert {text_in(one.content) for one in answer.memories} == {*good}


def text_in(content: types.Content) -> str | None:
    [part] = content.parts or []
    return part.text
