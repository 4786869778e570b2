"""LangGraph's own conformance suite, on the saver."""

from collections.abc import AsyncIterator

from langgraph.checkpoint.conformance import checkpointer_test, validate

from forklore.adapters.langgraph import AsyncForkloreSaver
from tests.adapters.services import Service

REQUIRED = ("put", "put_writes", "get_tuple", "list", "delete_thread", "copy_thread", "prune")
TESTS = 74


async def test_the_conformance_suite(service: Service, user: str) -> None:
    made = iter(range(1000))

    async def factory() -> AsyncIterator[AsyncForkloreSaver]:
        async with service.async_client(f"{user}-{next(made)}") as client:
            yield AsyncForkloreSaver(client)

    registered = checkpointer_test(name="ForkloreSaver")(factory)
    report = await validate(registered)
    results = {name: report.results[name] for name in REQUIRED}
    assert {name: one.failures for name, one in results.items() if one.passed is not True} == {}
    assert sum(one.tests_passed for one in results.values()) == TESTS
