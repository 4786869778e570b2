"""One branch as a page of HTML that needs no server, and loads and runs nothing.

It looks as in the explorer: the styles and the fonts are those that the explorer was built with.
"""

import re
from base64 import b64encode
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files as resources
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Keyword, Name, Number, String
from pygments.util import ClassNotFound

from forklore.client import jsontext
from forklore.client.generated.results import ConversationDetails, Note
from forklore.client.parts import Part, line_of
from forklore.client.spoken import said
from forklore.exporting.bytes_within import Files, Inline, inline_of
from forklore.exporting.elsewhere import Turn, mark_of

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src data:; font-src data:"
_PICTURE = re.compile(r"image/(png|jpeg|gif|webp|avif|bmp)")  # nothing in them can run
_LINK = re.compile(r"(https?|mailto):|data:image/(png|jpeg|gif|webp|avif|bmp);base64,", re.IGNORECASE)
_PLAYED = re.compile(r"(audio|video)/[a-z0-9.-]+")
_COLOURS = {Keyword: "hk", String: "hs", Number: "hn", Comment: "hc", Name.Function: "hf", Name.Class: "hf"}
_COLOURED_MAX = 60_000  # characters
_ARGUMENTS = 160  # characters of a call's arguments that its line shows
_WHO = {"user": "User", "assistant": "Assistant", "system": "System", "tool": "Tool"}
_CONTROLS = {one: "\N{REPLACEMENT CHARACTER}" for one in range(32) if one not in (9, 10)} | {13: None}
_TURNS = '<svg class="lucide turn" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2">'
_TURNS += '<path d="m9 18 6-6-6-6"/></svg>'
_OWN = """html,body{height:auto;overflow:visible}
.head h1{margin:0 auto;width:100%;max-width:768px;overflow-wrap:anywhere}
.call:not([open]) .io{display:none}
.md .notes{list-style:none;padding:6px 12px 10px}
footer{max-width:812px;margin:0 auto;padding:0 24px 32px 20px}
@media print{.code pre,.io>div{max-height:none;overflow:visible;white-space:pre-wrap}}
"""


def html(about: ConversationDetails, turns: Iterable[Turn], files: Files) -> Iterator[str]:
    """Yield a page with what a branch shows. The bytes of its files stand in it."""
    shown = list(turns)
    results = _Results(shown)
    title = _text(about.title or about.id)
    yield (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>{title}</title>\n<style>\n{_styles()}{_OWN}</style>\n"
        f'<header class="head"><h1 dir="auto">{title}</h1></header>\n<main class="thread">\n'
    )
    answered = [results.of_turn(turn, at) for at, turn in enumerate(shown)]
    bodies = [at for at, turn in enumerate(shown) if results.are_left(turn)]
    for at in bodies:
        place = f"{' first' * (at == bodies[0])}{' last' * (at == bodies[-1])}"
        yield _article(shown[at], place, "".join(_blocks(shown[at], answered[at], results, files)))
    count = f"{len(bodies):,} message{'s' * (len(bodies) != 1)}"
    yield f'</main>\n<footer class="quiet">{count}, kept with forklore</footer>\n</html>\n'


class _Results:
    """Which result of a tool stands at which call. Ids may come again; each result stands once."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self._at_calls = set[int]()  # the identities of those that were taken
        self._waiting: dict[str, deque[tuple[int, Part]]] = defaultdict(deque)
        for at, turn in enumerate(turns):
            for part in turn.of("tool_result"):
                self._waiting[str(part.get("tool_use_id"))].append((at, part))

    def of_turn(self, turn: Turn, at: int) -> dict[int, Part]:
        """Take the results of a turn's calls, by the call's place in it."""
        found = {}
        for number, part in enumerate(turn.parts):
            if part.get("type") != "tool_use":
                continue
            waiting = self._waiting[str(part.get("id"))]
            while waiting and waiting[0][0] < at:
                waiting.popleft()  # it stands before the call
            if waiting:
                _, found[number] = waiting.popleft()
                self._at_calls.add(id(found[number]))
        return found

    def is_left(self, part: Part) -> bool:
        """Whether a result stands at no call."""
        return id(part) not in self._at_calls

    def are_left(self, turn: Turn) -> bool:
        """Whether a turn says more than results that stand at their calls."""
        results = turn.of("tool_result")
        is_empty = not results and turn.role != "tool"  # it is shown, as each message of a person
        is_more = len(results) < len(turn.parts) or turn.files or turn.lost or turn.notes
        return bool(is_empty or is_more or any(map(self.is_left, results)))


def _article(turn: Turn, place: str, body: str) -> str:
    kind = {"assistant": "ai"}.get(turn.role, turn.role)
    who = "Summary" if turn.is_summary else _WHO[turn.role]
    return (
        f'<article class="msg {kind}{place}"><span class="node"></span>'
        f'<div class="line who"><h2>{who}</h2><time class="quiet" datetime="{_text(turn.at)}">'
        f'{_text(turn.at[:16].replace("T", " "))}</time><span class="facts">{_text(turn.model)}</span></div>'
        f'<div class="body md">{body}</div></article>\n'
    )


def _blocks(turn: Turn, answers: Mapping[int, Part], results: _Results, files: Files) -> Iterator[str]:
    """Yield what a turn says, part by part. Calls that follow each other stand in one frame."""
    calls: list[str] = []
    for number, part in enumerate(turn.parts):
        if part.get("type") == "tool_use":
            calls.append(_call(part, answers.get(number)))
            continue
        if part.get("type") == "tool_result" and not results.is_left(part):
            continue
        if calls:
            yield f'<div class="tools">{"".join(calls)}</div>'
            calls = []
        yield _block(part)
    if calls:
        yield f'<div class="tools">{"".join(calls)}</div>'
    held = map(files.inlined, turn.files)
    yield from (
        _file(one) if one else _named(named.name) for one, named in zip(held, turn.files, strict=True)
    )
    files.left_out += len(turn.lost)
    yield from (_named(str(one.get("name") or one.get("id") or "file")) for one in turn.lost)
    if turn.notes:
        yield f'<ul class="notes">{"".join(map(_noted, turn.notes))}</ul>'


def _noted(note: Note) -> str:
    words = f'<p class="as-is" dir="auto">{_text(note.text)}</p>' if note.text else ""
    return f'<li><span class="chip">{_text(mark_of(note))}</span>{words}</li>'


def _block(part: Part) -> str:
    kind, inline = part.get("type"), inline_of(part)
    if inline is not None:
        return _file(inline)
    if kind == "text":
        return _said(line_of(part))
    if kind == "thinking":
        words = _said(str(part.get("thinking") or ""))
        return f'<details class="thought"><summary>Thoughts</summary>{words}</details>'
    if kind == "tool_result":
        fail = " fail" if part.get("is_error") is True else ""
        return f'<div class="tools result{fail}">{_output(part)}</div>'
    stored = _text(jsontext.write(part))
    return f'<details class="stored"><summary>{_text(kind or "JSON")}</summary><pre>{stored}</pre></details>'


def _call(part: Part, result: Part | None) -> str:
    given = part.get("input", {})
    members = given.items() if isinstance(given, Mapping) else [("", given)]
    rows = "".join(
        f'<div><dt>{_text(name)}</dt><dd><pre dir="auto">{_text(said(value))}</pre></dd></div>'
        for name, value in members
    )
    line = ", ".join(said(value) for _, value in members).replace("\n", " ")[:_ARGUMENTS]
    failed = result is not None and result.get("is_error") is True
    state = '<span class="quiet">no result</span>'
    if result is not None:
        state = '<span class="err">failed</span>' if failed else '<span class="ok">✓</span>'
    told = _output(result) if result is not None else '<span class="quiet">There is none</span>'
    return (
        f'<details class="call"{" open" * failed}><summary class="line">{_TURNS}'
        f'<b>{_text(part.get("name"))}</b><span class="args cut">{_text(line)}</span>'
        f'<span class="line t">{state}</span></summary><div class="io">'
        f'<div><div class="h">Arguments</div><dl>{rows}</dl></div>'
        f'<div{" class=fail" * failed}><div class="h">Result</div>{told}</div></div></details>'
    )


def _output(result: Part) -> str:
    """Return what a tool has returned: as it is, not as somebody's words."""
    content = result.get("content", "")
    parts = content if isinstance(content, list) else [content]
    shown = []
    for one in parts:
        inline = inline_of(one) if isinstance(one, Mapping) else None
        words = line_of(one) if isinstance(one, Mapping) else said(one)
        shown.append(_file(inline) if inline else f'<pre dir="auto">{_text(words)}</pre>')
    return "".join(shown)


def _file(file: Inline) -> str:
    kind, name = file.content_type.lower(), _text(file.name)
    url = f"data:{kind};base64,{escape(file.data)}"
    if _PICTURE.fullmatch(kind):
        return f'<figure class="pic"><img src="{url}" alt="{name}"><figcaption>{name}</figcaption></figure>'
    if found := _PLAYED.fullmatch(kind):
        return f'<div class="played"><{found[1]} src="{url}" controls></{found[1]}>{_named(file.name)}</div>'
    url = f"data:application/octet-stream;base64,{escape(file.data)}"  # saved, and shown as no page
    return f'<p class="line file"><a href="{url}" download="{name or "file"}">{name or "file"}</a></p>'


def _named(name: str) -> str:
    return f'<p class="line file"><bdi>{_text(name)}</bdi></p>'


def _text(words: Any) -> str:
    """Return words as text of HTML."""
    return escape(str(words or "").translate(_CONTROLS))


@cache
def _styles() -> str:
    """Return the explorer's styles with its fonts: the dark ones on a system that is dark."""
    web = resources("forklore_local.server") / "web"
    held = sorted((one for one in web.iterdir() if one.name.endswith(".css")), key=lambda one: one.name)
    styles = "\n".join(one.read_text() for one in held if one.name.startswith("index-"))
    dark = re.search(r':root\[data-theme="?dark"?\]\{([^}]*)\}', styles)
    styles += f"\n@media (prefers-color-scheme:dark){{:root{{{dark[1]}}}}}\n" if dark else "\n"

    def as_data(found: re.Match[str]) -> str:
        font = (web / found[1].rpartition("/")[2]).read_bytes()
        return f"url(data:font/woff2;base64,{b64encode(font).decode()})"

    return re.sub(r'url\("?([^")]+\.woff2)"?\)', as_data, styles)


def _said(words: str) -> str:
    return str(_markdown().render(words.translate(_CONTROLS)))


class _Markdown(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802 (its name)
        """Whether a link or an image is one, and not text."""
        return _LINK.match(url) is not None


def _direct(state: StateCore) -> None:
    """Let each paragraph be read in its own direction."""
    for token in state.tokens:
        if token.type in ("paragraph_open", "list_item_open"):
            token.attrSet("dir", "auto")


@cache
def _markdown() -> MarkdownIt:
    """Return what makes HTML of Markdown. HTML in it is text; an image elsewhere is a link."""
    made = _Markdown("commonmark", {"html": False}).enable(["table", "strikethrough"])
    made.core.ruler.push("direction", _direct)
    made.add_render_rule("fence", _fence)
    made.add_render_rule("code_block", _fence)
    made.add_render_rule("image", _image)
    made.add_render_rule("heading_open", _heading)
    made.add_render_rule("heading_close", lambda *_: "</h3>\n")
    made.add_render_rule("table_open", lambda *_: '<div class="wide"><table>')
    made.add_render_rule("table_close", lambda *_: "</table></div>")
    return made


def _heading(_made: object, tokens: Sequence[Token], at: int, *_: object) -> str:
    return f'<h3 class="depth-{tokens[at].tag[1]}" dir="auto">'  # one level for all, as in the explorer


def _fence(_made: object, tokens: Sequence[Token], at: int, *_: object) -> str:
    language, text = tokens[at].info.split(maxsplit=1)[:1], tokens[at].content
    name = language[0] if language else ""
    head = f'<header class="line"><span class="cut">{_text(name or "code")}</span></header>'
    return f'<div class="code">{head}<pre><code>{_coloured(name, text)}</code></pre></div>\n'


def _coloured(language: str, text: str) -> str:
    if language in ("diff", "patch"):
        kinds = {"+": " add", "-": " del"}
        rows = text.removesuffix("\n").split("\n")
        return "".join(f'<span class="l{kinds.get(row[:1], "")}">{_text(row)}\n</span>' for row in rows)
    try:
        lexer = get_lexer_by_name(language, stripnl=False) if len(text) <= _COLOURED_MAX else None
    except ClassNotFound:
        lexer = None
    if lexer is None:
        return _text(text)
    pieces = []
    for kind, piece in lexer.get_tokens(text):
        colour = next((name for one, name in _COLOURS.items() if kind in one), "")
        pieces.append(f'<span class="{colour}">{_text(piece)}</span>' if colour else _text(piece))
    return "".join(pieces)


def _image(_made: object, tokens: Sequence[Token], at: int, *_: object) -> str:
    source, words = str(tokens[at].attrs.get("src", "")), _text(tokens[at].content)
    if source.startswith("data:"):
        return f'<img src="{escape(source)}" alt="{words}">'
    label = f"image: {words or _text(source)}"
    return f'<a href="{escape(source)}">{label}</a>'
