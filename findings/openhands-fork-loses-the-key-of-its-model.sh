#!/bin/sh
# OpenHands SDK 1.58.2: a fork of a conversation with a cipher is stored without the key of its model.
# `fork` does not hand the cipher on, so the base state of the fork says "**********" for the key, and
# another process has none. The agent server stores a fork and loads it again, so with its secret key
# set, POST /api/conversations/{id}/fork makes a conversation that cannot run.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3.12}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check openhands-sdk==1.58.2
cd "$folder"
HOME="$folder" LITELLM_LOCAL_MODEL_COST_MAP=True OPENHANDS_SUPPRESS_BANNER=1 "$folder/venv/bin/python" -W ignore - <<'PYTHON'
import logging
from openhands.sdk import LLM, Agent
from openhands.sdk.conversation.impl.local_conversation import LocalConversation
from openhands.sdk.utils.cipher import Cipher
from pydantic import SecretStr

logging.disable(logging.WARNING)
agent = Agent(llm=LLM(model="openai/m", api_key=SecretStr("a-made-up-key"), usage_id="agent"), tools=[])
where = {"workspace": ".", "persistence_dir": "kept", "visualizer": None, "cipher": Cipher("secret")}
source = LocalConversation(agent=agent, **where)
fork = source.fork()
keys = []
for name, one in (("source", source), ("fork", fork)):
    one.close()
    again = LocalConversation(agent=None, conversation_id=one.id, **where)
    key = again.agent.llm.api_key
    keys.append(key and key.get_secret_value())
    print(f"the key of the {name} in another process:", keys[-1])
    again.close()
assert keys == ["a-made-up-key", None], keys
PYTHON
