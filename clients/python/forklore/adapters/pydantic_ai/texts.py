"""What people see of a message: who said it, and its text."""

from collections.abc import Callable
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

from forklore.adapters.storable import shortened


def shown(message: ModelMessage) -> dict[str, Any]:
    """Return the role and the text of a message. What a tool returns is said by the system."""
    text = shortened("\n".join(line for part in message.parts if (line := _line(part))))
    role = _role(message)
    return {"text": text} if role is None else {"role": role, "text": text}


def _role(message: ModelMessage) -> str | None:
    if not isinstance(message, ModelRequest):
        return "AI"
    kinds = [type(part) for part in message.parts]
    if UserPromptPart in kinds:
        return "USER"
    return "SYSTEM" if SystemPromptPart in kinds or ToolReturnPart in kinds else None


def _line(part: object) -> str:
    match part:
        case UserPromptPart(content=str(text)) | TextPart(content=text) | SystemPromptPart(content=text):
            return text
        case UserPromptPart(content=several):
            return "\n".join(
                each if isinstance(each, str) else f"[{type(each).__name__}]" for each in several
            )
        case ToolCallPart():
            return f"[calls {part.tool_name} {_said(part.args_as_json_str, part.args)}]"
        case ToolReturnPart():
            return f"[{part.tool_name} returned {_said(part.model_response_str, part.content)}]"
    return ""


def _said(told: Callable[[], str], value: object) -> str:
    """Return what a model is told; where Pydantic cannot write it, the value in Python's words."""
    try:
        return told()
    except ValueError:  # half of a surrogate pair
        return str(value)
