#!/bin/sh
# Google ADK 2.13.0: Runner.rewind_async sets to None what a session's state had from the beginning.
# It computes the state of then from the events alone, and create_session(state=…) makes no event.
# So a rewind to before the second turn, which changes nothing that the first one saw, loses it.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check google-adk==2.13.0
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import asyncio
import logging
from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types

logging.disable(logging.WARNING)


class Script(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text="Yes.")]))


async def main():
    service = InMemorySessionService()
    runner = Runner(app_name="a", agent=LlmAgent(name="g", model=Script(model="s")), session_service=service)
    who = {"user_id": "u", "session_id": "s"}
    await service.create_session(app_name="a", state={"city": "Lisbon"}, **who)
    for text in ("first", "second"):
        message = types.Content(role="user", parts=[types.Part(text=text)])
        async for event in runner.run_async(new_message=message, **who):
            invocation = event.invocation_id
    before = dict((await service.get_session(app_name="a", **who)).state)
    await runner.rewind_async(rewind_before_invocation_id=invocation, **who)
    after = dict((await service.get_session(app_name="a", **who)).state)
    print("before the rewind:", before)
    print("after the rewind: ", after)
    assert before == {"city": "Lisbon"}, before
    assert after == {"city": None}, after


asyncio.run(main())
PYTHON
