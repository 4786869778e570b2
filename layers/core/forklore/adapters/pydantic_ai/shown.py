"""What people see of a message: who said it, and its text."""

from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

TEXT_CHARACTERS_MAX = 8000
"""The whole message is beside its text."""


def shown(message: ModelMessage) -> dict[str, Any]:
    """Return the role and the text of a message. A request without a prompt has no role."""
    text = "\n".join(line for part in message.parts if (line := _line(part)))
    if len(text) > TEXT_CHARACTERS_MAX:
        text = text[: TEXT_CHARACTERS_MAX - 1] + "…"
    role = _role(message)
    return {"text": text} if role is None else {"role": role, "text": text}


def _role(message: ModelMessage) -> str | None:
    if not isinstance(message, ModelRequest):
        return "AI"
    kinds = [type(part) for part in message.parts]
    return "USER" if UserPromptPart in kinds else "SYSTEM" if SystemPromptPart in kinds else None


def _line(part: object) -> str:
    match part:
        case UserPromptPart(content=str(text)) | TextPart(content=text) | SystemPromptPart(content=text):
            return text
        case UserPromptPart(content=several):
            return "\n".join(
                each if isinstance(each, str) else f"[{type(each).__name__}]" for each in several
            )
        case ToolCallPart():
            return f"[calls {part.tool_name} {part.args_as_json_str()}]"
        case ToolReturnPart():
            return f"[{part.tool_name} returned {part.model_response_str()}]"
    return ""
