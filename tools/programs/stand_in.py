"""A stand-in model server on 127.0.0.1, which answers agent programs as a script says.

It speaks Anthropic's Messages, OpenAI's chat completions and Responses, and Gemini's
generateContent, streaming where the program asks for it. Each request is read into `Part`s first,
which are the same for all of them: the script finds its answer in them, and a check of what a
program sends after a resume compares them.
"""

import gzip
import json
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from typing import Any, Literal, Self

Raw = dict[str, Any]
Kind = Literal["text", "thought", "call", "result", "image", "file"]
TITLE = "Harbour talk"
SUMMARY = "The harbour is twelve metres deep. There are three boats."


@dataclass(frozen=True)
class Part:
    """A part of a message that a program sent.

    text: of a call its arguments as JSON with sorted members; of an image or a file a digest of its
    bytes. name, call_id: of a call and its result.
    """

    role: Literal["system", "user", "assistant"]
    kind: Kind
    text: str
    name: str = ""
    call_id: str = ""


@dataclass(frozen=True)
class Call:
    """A call of a tool that the model makes. arguments: or what makes them of the last result."""

    name: str
    arguments: Mapping[str, Any] | Callable[[str], Mapping[str, Any]]


@dataclass(frozen=True)
class Step:
    """One answer of the model. slow: the text comes word by word, for a minute."""

    text: str = ""
    thought: str = ""
    calls: Sequence[Call] = ()
    slow: bool = False


@dataclass(frozen=True)
class Script:
    """What the model says. answers: by what the user said, the answers that follow one another
    until no call is left; of several in one message the last one counts. compaction: words that
    only the program's own request for a summary has."""

    answers: Mapping[str, Sequence[Step]]
    compaction: Sequence[str] = ()
    summary: str = SUMMARY

    def step(self, parts: Sequence[Part], *, has_tools: bool) -> Step:
        """Return what the model says to a request."""
        told = [at for at, part in enumerate(parts) if (part.role, part.kind) == ("user", "text")]
        last = parts[told[-1]].text if told else ""
        system = " ".join(part.text for part in parts if part.role == "system")
        if any(words in last or words in system for words in self.compaction):
            return Step(self.summary)
        if not has_tools and "title" in (last + system).lower():
            return Step(TITLE)
        for at in reversed(told):
            places = {said: parts[at].text.rfind(said) for said in self.answers}
            said = max(places, key=lambda one: (places[one], len(one)))
            if places[said] >= 0:
                results = [part.kind == "result" for part in parts[at:]]
                rounds = sum(now and not before for before, now in pairwise(results))
                steps = self.answers[said]
                last = next((part.text for part in reversed(parts) if part.kind == "result"), "")
                return _with_arguments(steps[rounds], last) if rounds < len(steps) else Step("Noted.")
        return Step("Noted.")


def _with_arguments(step: Step, last: str) -> Step:
    made = [
        Call(one.name, one.arguments(last) if callable(one.arguments) else one.arguments)
        for one in step.calls
    ]
    return replace(step, calls=made)


@dataclass
class Request:
    """A request for an answer of the model. parts: in the order in which they were sent."""

    path: str
    body: Raw
    parts: list[Part] = field(default_factory=list)


class StandIn:
    """The server; a context manager that stops it. requests: those for an answer, oldest first."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.requests: list[Request] = []
        self.unknown: list[str] = []
        self.stopping = threading.Event()
        handler = type("Handler", (_Handler,), {"stand_in": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=[0.05], daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()

    def was_asked(self, said: str, earlier: int) -> bool:
        """Tell whether a request with these words of the user came after so many earlier ones."""
        sent = [part for one in self.requests[earlier:] for part in one.parts]
        return any(said in part.text for part in sent if (part.role, part.kind) == ("user", "text"))

    def wait_for(self, path: str, count: int, timeout: float = 30) -> bool:
        """Tell whether so many requests whose path has these letters come in so many seconds."""
        for _ in range(int(timeout * 10)):
            if sum(path in one.path for one in self.requests) >= count:
                return True
            self.stopping.wait(0.1)
        return False


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    stand_in: StandIn

    def log_message(self, *_: object) -> None:
        """Write nothing."""

    def do_HEAD(self) -> None:
        self._send({})

    def do_GET(self) -> None:
        self._send({"object": "list", "data": [], "models": []} if "/models" in self.path else {})

    def do_POST(self) -> None:
        body = self._body()
        if "ount_tokens" in self.path or "countTokens" in self.path:
            return self._send({"input_tokens": 1000, "totalTokens": 1000})
        path = self.path.split("?")[0]
        wire = next((wire for ending, wire in _WIRES.items() if ending in path), None)
        if wire is None:
            self.stand_in.unknown.append(self.path)
            return self._send({"error": {"type": "not_found_error", "message": "no such path"}}, 404)
        parts_of, speak = wire
        parts = list(parts_of(body))
        self.stand_in.requests.append(Request(self.path, body, parts))
        step = self.stand_in.script.step(parts, has_tools=bool(body.get("tools")))
        if not body.get("tools"):
            step = Step(step.text, step.thought, (), step.slow)
        if _asks_for_json(body):
            step = Step(json.dumps({"title": TITLE, "next_speaker": "user", "reasoning": "all is said"}))
        usage = sum(len(part.text) for part in parts) // 4
        is_streamed = bool(body.get("stream")) or "stream" in path
        events = speak(step, body, usage, is_streamed)
        if not is_streamed:
            return self._send(json.loads(next(events)))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            for event in events:
                self.wfile.write(event.encode())
                self.wfile.flush()
                if step.slow and self.stand_in.stopping.wait(0.1):
                    break
        except OSError:
            pass  # the program was interrupted

    def _body(self) -> Raw:
        if "chunked" in self.headers.get("transfer-encoding", ""):
            raw = b""
            while size := int(self.rfile.readline(), 16):
                raw += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("content-encoding") == "gzip":
            raw = gzip.decompress(raw)
        value = json.loads(raw or b"{}")
        return value if isinstance(value, dict) else {}

    def _send(self, value: Raw, status: int = 200) -> None:
        raw = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(raw)


def _asks_for_json(body: Raw) -> bool:
    gemini = body.get("generationConfig") or {}
    forms = [body.get("response_format"), body.get("output_config"), (body.get("text") or {}).get("format")]
    return "json" in json.dumps(forms) or "json" in str(gemini.get("responseMimeType"))


def _new(prefix: str) -> str:
    return prefix + uuid.uuid4().hex[:24]


def _blocks(content: Any) -> list[Raw]:
    """Return the content of a message, which may be a text, as a list."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content or [])


def _written(arguments: Any) -> str:
    try:
        value = json.loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        return str(arguments)
    return json.dumps(value, sort_keys=True)


def _digest(data: str) -> str:
    """Return a digest of base64 text, which may stand in a data: URL."""
    return sha256(data.rsplit(",", 1)[-1].encode()).hexdigest()[:16]


def _text_of(content: Any) -> str:
    return "\n".join(str(one.get("text", "")) for one in _blocks(content) if "text" in one)


# ---- Anthropic's Messages


def _parts_of_messages(body: Raw) -> Iterator[Part]:
    for block in _blocks(body.get("system")):
        yield Part("system", "text", block.get("text", ""))
    for message in body["messages"]:
        role = message["role"]
        for block in _blocks(message["content"]):
            kind = block["type"]
            if kind == "text":
                yield Part(role, "text", block["text"])
            elif kind == "thinking":
                yield Part(role, "thought", block["thinking"])
            elif kind == "tool_use":
                yield Part(role, "call", _written(block["input"]), block["name"], block["id"])
            elif kind == "tool_result":
                told = block.get("content")
                yield Part("user", "result", _text_of(told), call_id=block["tool_use_id"])
                yield from (_image(one) for one in _blocks(told) if one["type"] == "image")
            elif kind == "image":
                yield _image(block)
            elif kind == "document":
                yield Part(role, "file", _digest(str(block["source"].get("data"))))


def _image(block: Raw) -> Part:
    return Part("user", "image", _digest(str(block["source"].get("data"))))


def _speak_messages(step: Step, body: Raw, usage: int, is_streamed: bool) -> Iterator[str]:
    blocks: list[Raw] = []
    if step.thought:
        blocks.append({"type": "thinking", "thinking": step.thought, "signature": "c2lnbmVk"})
    if step.text:
        blocks.append({"type": "text", "text": step.text})
    blocks += [
        {"type": "tool_use", "id": _new("toolu_"), "name": call.name, "input": call.arguments}
        for call in step.calls
    ]
    spent = {"input_tokens": usage, "output_tokens": 5, "cache_read_input_tokens": 3}
    end = {"stop_reason": "tool_use" if step.calls else "end_turn", "stop_sequence": None}
    message = {"id": _new("msg_"), "type": "message", "role": "assistant", "model": body.get("model")}
    message |= {"content": blocks, "usage": spent, **end}

    def event(kind: str, **more: Any) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n"

    if not is_streamed:
        yield json.dumps(message)
        return
    yield event("message_start", message=message | {"content": [], "stop_reason": None})
    for at, block in enumerate(blocks):
        if block["type"] == "tool_use":
            empty, deltas = block | {"input": {}}, [_delta("input_json", json.dumps(block["input"]))]
        elif block["type"] == "text":
            empty, deltas = block | {"text": ""}, [_delta("text", one) for one in _words(step)]
        else:
            empty = block | {"thinking": "", "signature": ""}
            deltas = [_delta("thinking", step.thought), _delta("signature", block["signature"])]
        yield event("content_block_start", index=at, content_block=empty)
        for delta in deltas:
            yield event("content_block_delta", index=at, delta=delta)
        yield event("content_block_stop", index=at)
    yield event("message_delta", delta=end, usage=spent)
    yield event("message_stop")


def _delta(kind: str, text: str) -> Raw:
    return {"type": f"{kind}_delta", "partial_json" if kind == "input_json" else kind: text}


def _words(step: Step) -> Iterable[str]:
    """Return the pieces in which a text is streamed."""
    return (f"{step.text} {number} " for number in range(600)) if step.slow else [step.text]


# ---- OpenAI's chat completions


def _parts_of_chat(body: Raw) -> Iterator[Part]:
    for message in body["messages"]:
        role = message["role"]
        if role == "tool":
            yield Part("user", "result", _text_of(message["content"]), call_id=message["tool_call_id"])
            continue
        thought = message.get("reasoning_content") or message.get("reasoning")
        if thought:
            yield Part("assistant", "thought", str(thought))
        yield from _parts_in(role, message.get("content"))
        for call in message.get("tool_calls") or []:
            made = call["function"]
            yield Part("assistant", "call", _written(made["arguments"]), made["name"], call["id"])


def _parts_in(role: str, content: Any) -> Iterator[Part]:
    """Yield the parts of a content in OpenAI's words."""
    who: Any = "system" if role == "developer" else role
    for block in _blocks(content):
        if block.get("text"):
            yield Part(who, "text", block["text"])
        elif "image" in block["type"]:
            url = block["image_url"]
            yield Part(who, "image", _digest(url["url"] if isinstance(url, dict) else url))
        elif "file" in block["type"]:
            yield Part(who, "file", _digest(str(block)))


def _speak_chat(step: Step, body: Raw, usage: int, is_streamed: bool) -> Iterator[str]:
    spent = {"prompt_tokens": usage, "completion_tokens": 5, "total_tokens": usage + 5}
    calls = [
        {
            "index": at,
            "id": _new("call_"),
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
        }
        for at, call in enumerate(step.calls)
    ]
    end = "tool_calls" if calls else "stop"
    base = {"id": _new("chatcmpl-"), "created": 1, "model": body.get("model")}
    if not is_streamed:
        message: Raw = {"role": "assistant", "content": step.text or None}
        message |= {"reasoning_content": step.thought} if step.thought else {}
        message |= {"tool_calls": calls} if calls else {}
        choice: Raw = {"index": 0, "message": message, "finish_reason": end}
        yield json.dumps(base | {"object": "chat.completion", "choices": [choice], "usage": spent})
        return

    def event(delta: Raw, finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return f"data: {json.dumps(base | {'object': 'chat.completion.chunk', 'choices': [choice]})}\n\n"

    yield event({"role": "assistant", "content": ""})
    if step.thought:
        yield event({"reasoning_content": step.thought})
    for piece in _words(step) if step.text else []:
        yield event({"content": piece})
    for call in calls:
        yield event({"tool_calls": [call]})
    yield event({}, end)
    last = base | {"object": "chat.completion.chunk", "choices": [], "usage": spent}
    yield f"data: {json.dumps(last)}\n\ndata: [DONE]\n\n"


# ---- OpenAI's Responses


def _parts_of_responses(body: Raw) -> Iterator[Part]:
    if body.get("instructions"):
        yield Part("system", "text", body["instructions"])
    given = body["input"]
    for item in [{"role": "user", "content": given}] if isinstance(given, str) else given:
        kind = item.get("type", "message")
        if kind == "message":
            yield from _parts_in(item["role"], item["content"])
        elif kind == "reasoning":
            yield Part("assistant", "thought", _text_of(item.get("summary")))
        elif kind in ("function_call", "custom_tool_call"):
            told = item.get("arguments", item.get("input"))
            name = f"{item['namespace']}.{item['name']}" if item.get("namespace") else item["name"]
            yield Part("assistant", "call", _written(told), name, item["call_id"])
        elif kind in ("function_call_output", "custom_tool_call_output"):
            yield Part("user", "result", _text_of(item["output"]), call_id=item["call_id"])
            yield from (one for one in _parts_in("user", item["output"]) if one.kind == "image")


def _speak_responses(step: Step, body: Raw, usage: int, is_streamed: bool) -> Iterator[str]:
    items: list[Raw] = []
    if step.thought:
        summary = [{"type": "summary_text", "text": step.thought}]
        hidden = {"summary": summary, "encrypted_content": "c2VhbGVk"}
        items.append({"type": "reasoning", "id": _new("rs_"), **hidden})
    if step.text:
        content = [{"type": "output_text", "text": step.text, "annotations": []}]
        message = {"type": "message", "role": "assistant", "status": "completed", "content": content}
        items.append({**message, "id": _new("msg_")})
    spaces = [tool["name"] for tool in body.get("tools") or [] if tool.get("type") == "namespace"]
    for call in step.calls:
        space = next((one for one in spaces if call.name.startswith(f"{one}.")), None)
        called: Raw = {"type": "function_call", "id": _new("fc_"), "call_id": _new("call_")}
        called |= {"name": call.name.removeprefix(f"{space}."), "arguments": json.dumps(call.arguments)}
        items.append(called | {"status": "completed"} | ({"namespace": space} if space else {}))
    spent: Raw = {"input_tokens": usage, "output_tokens": 5, "total_tokens": usage + 5}
    spent |= {"input_tokens_details": {"cached_tokens": 3}, "output_tokens_details": {"reasoning_tokens": 2}}
    response = {"id": _new("resp_"), "object": "response", "created_at": 1, "model": body.get("model")}
    done = response | {"status": "completed", "output": items, "usage": spent, "error": None}
    if not is_streamed:
        yield json.dumps(done)
        return
    number = iter(range(10_000))

    def event(kind: str, **more: Any) -> str:
        value = {"type": f"response.{kind}", "sequence_number": next(number), **more}
        return f"event: response.{kind}\ndata: {json.dumps(value)}\n\n"

    yield event("created", response=response | {"status": "in_progress", "output": []})
    for at, item in enumerate(items):
        yield event(
            "output_item.added", output_index=at, item=item | ({"content": []} if "content" in item else {})
        )
        for piece in _words(step) if item["type"] == "message" else []:
            place = {"output_index": at, "content_index": 0, "item_id": item["id"]}
            yield event("output_text.delta", **place, delta=piece)
        yield event("output_item.done", output_index=at, item=item)
    yield event("completed", response=done)


# ---- Gemini's generateContent


def _parts_of_contents(body: Raw) -> Iterator[Part]:
    for one in (body.get("systemInstruction") or {}).get("parts") or []:
        yield Part("system", "text", one.get("text", ""))
    for content in body["contents"]:
        role: Any = "assistant" if content.get("role") == "model" else "user"
        for part in content["parts"]:
            if "functionCall" in part:
                made = part["functionCall"]
                yield Part(role, "call", _written(made.get("args")), made["name"], made.get("id", ""))
            elif "functionResponse" in part:
                made = part["functionResponse"]
                told = made["response"]
                text = str(told["output"]) if "output" in told else json.dumps(told)
                yield Part("user", "result", text, made["name"], made.get("id", ""))
            elif "inlineData" in part:
                yield Part(role, "image", _digest(part["inlineData"]["data"]))
            elif part.get("text"):
                yield Part(role, "thought" if part.get("thought") else "text", part["text"])


def _speak_contents(step: Step, _: Raw, usage: int, is_streamed: bool) -> Iterator[str]:
    parts: list[Raw] = [{"text": step.thought, "thought": True}] if step.thought else []
    parts += [{"text": piece} for piece in _words(step)] if step.text else []
    for call in step.calls:
        parts.append(
            {"functionCall": {"name": call.name, "args": call.arguments}, "thoughtSignature": "c2ln"}
        )
    spent = {"promptTokenCount": usage, "candidatesTokenCount": 5, "totalTokenCount": usage + 5}

    def answer(some: list[Raw], *, is_last: bool) -> str:
        told = {"index": 0, "content": {"role": "model", "parts": some}}
        told |= {"finishReason": "STOP"} if is_last else {}
        return json.dumps({"candidates": [told], "usageMetadata": spent, "responseId": _new("")})

    if not is_streamed:
        yield answer(parts, is_last=True)
    else:
        for part in parts:
            yield f"data: {answer([part], is_last=part is parts[-1])}\r\n\r\n"


Reading = Callable[[Raw], Iterator[Part]]
Speaking = Callable[[Step, Raw, int, bool], Iterator[str]]
_WIRES: Mapping[str, tuple[Reading, Speaking]] = {
    "/messages": (_parts_of_messages, _speak_messages),
    "/chat/completions": (_parts_of_chat, _speak_chat),
    "/responses": (_parts_of_responses, _speak_responses),
    "enerateContent": (_parts_of_contents, _speak_contents),
}
