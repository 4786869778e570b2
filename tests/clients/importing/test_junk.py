"""Whatever a file of a format holds, its reader ends, and what it gives can be stored."""

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forklore.importing.file_records import records_of
from forklore.importing.foreign_trees import ImportReport, MalformedFileError
from forklore.importing.plan_trees import plan_tree
from forklore.importing.readers import format_of, importers, refusal
from forklore_service.domain.content import check_history
from tests.service.domain.builders import examples

NAMES = {
    "claude-code": "sessionId uuid parentUuid type message role content id isSidechain timestamp agentId "
    "toolUseResult summary leafUuid tool_use_id name input prompt",
    "codex": "timestamp type payload id role content text name arguments call_id output summary instructions",
    "open-webui": "id chat history messages currentId parentId childrenIds role content files file",
    "librechat": "conversationId messageId parentMessageId messages children text content type tool_call",
    "sillytavern": "user_name character_name is_user mes swipes swipe_id swipe_info send_date",
    "gemini-cli": "sessionId projectHash $set $rewindTo messages id type content text functionResponse "
    "functionCall toolCalls result thoughts description timestamp displayContent tokens kind",
    "qwen-code": "uuid sessionId parentUuid type message parts text thought functionCall functionResponse "
    "systemPayload compressedHistory isSidechain agentId provenance displayText usageMetadata",
    "pi": "type id parentId timestamp version cwd message role content text summary firstKeptEntryId "
    "toolCallId usage data mimeType name command",
    "copilot-cli": "type data id timestamp parentId agentId content toolRequests attachments assetId "
    "toolCallId result success summaryContent reasoningText externalId role",
    "opencode": "info messages parts id role time created parentID revert messageID type text state status "
    "callID tool tokens cache summary synthetic mime tail_start_id",
    "goose": "conversation working_dir id role content type text metadata userVisible toolCall toolResult "
    "value usage inference created turnContext",
    "cline": "messages sessionId origin parentThreadId id role content type text ts metrics modelInfo",
    "openhands": "id persistence_dir execution_status stats usage_to_metrics token_usages response_id tags",
    "continue": "sessionId history message contextItems toolCallStates output content role toolCalls "
    "function conversationSummary usage title",
    "kimi-code": "type protocol_version message id role content origin kind event uuid stepUuid part text "
    "think toolCallId result output parentUuid count summary keptUserMessageCount time usage",
    "llm": "hash parent_hash",
    "openai-agents": "session_id message_data",
    "llama-webui": "conv currNode id name messages parent role content type timestamp thinking extra",
    "messages": "messages conversations parts kind part_kind data lc kwargs parentId threadId id role "
    "from content value tool_calls function arguments system",
    "trees": "message_tree_id prompt message_id role text replies rank created_date",
    "chatgpt": "mapping id parent children message author role content content_type parts",
    "claude": "uuid chat_messages sender text content type files file_name parent_message_uuid name",
}
WORDS = [
    "a",
    "b",
    "user",
    "assistant",
    "tool",
    "text",
    "tool_use",
    "tool_result",
    "response_item",
    "message",
    "",
]


def junk(names: str) -> st.SearchStrategy[Any]:
    scalars = (
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.sampled_from(WORDS)
    )
    return st.recursive(
        scalars,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from([*names.split(), *WORDS[:2]]), inner, max_size=7)
        ),
        max_leaves=25,
    )


@pytest.mark.parametrize("kind", NAMES)
@examples(25)
@given(st.data())
def test_junk_never_breaks_a_reader(kind: str, data: st.DataObject) -> None:
    rows = data.draw(st.lists(junk(NAMES[kind]), max_size=5))
    text = "\n".join(json.dumps(row) for row in rows if row != "").encode()
    report = ImportReport()
    for row in rows:
        assert format_of(row) or refusal(row)

    try:
        for tree in importers()[kind].trees(records_of(io.BytesIO(text)), report):
            for message in tree.messages:
                check_history("history", [message.content])
            assert plan_tree(tree, owner="ann", report=report).entries == len(tree.messages)
    except MalformedFileError:
        assert kind == "trees" or text.startswith(b"[")


def test_the_junk_is_of_each_format() -> None:
    assert NAMES.keys() == importers().keys()
