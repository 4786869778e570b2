"""What may be in the files of web/, and how large they may be together."""

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

WEB = Path(__file__).parents[2] / "web"
BYTES_MAX = 151 * 1024
"""Of all files of the page, together and as they are."""
EXAMPLE = "trees.jsonl"
"""Not of the page: the example's data, which is loaded when somebody asks for it."""
KINDS = {".html", ".css", ".js", ".svg", ".jsonl"}
TYPES = ".d.ts"
"""The end of the files that only the type checker reads. They are not served."""
AS_CODE = {
    "text that becomes HTML": r"\b(innerHTML|outerHTML|insertAdjacentHTML|setHTMLUnsafe|srcdoc)\b"
    r"|\bcreateContextualFragment\b|\bDOMParser\b|\bdocument\s*\.\s*write",
    "text that becomes code": r"\beval\s*\(|\bFunction\s*\(|\bjavascript:"
    r"|\bset(Timeout|Interval)\s*\(\s*[\"'`]",
    "an address of elsewhere": r"\b(https?|wss?):(?!//www\.w3\.org/2000/svg\b)//|[\"'(]//\w",
    "an address that the policy refuses": r"\b(data|blob):[a-z]+/|\bcreateObjectURL\b",
}
IN_HTML = {
    "an attribute that is code or style": r"<[^>]*\s(style|on\w+)\s*=",
    "code or style in the page": r"<style\b|<script\b(?![^>]*\ssrc=)",
}
MAY_IMPORT = {
    "domain": {"domain"},
    "service": {"service", "domain"},
    "views": {"views", "service", "domain", "dom.js"},
    "dom.js": set[str](),
}
"""What each room may import; the files that are not named here may import everything."""


def files() -> list[Path]:
    """Return all files that are served."""
    return sorted(path for path in WEB.rglob("*") if path.is_file() and not path.name.endswith(TYPES))


def found(patterns: dict[str, str], text: str) -> list[str]:
    """Return what is in a text that must not be, with its line."""
    return [
        f"{text.count(chr(10), 0, match.start()) + 1}: {what}: {match.group()}"
        for what, pattern in patterns.items()
        for match in re.finditer(pattern, text)
    ]


def imports(text: str) -> Iterator[str]:
    """Yield the addresses that a module imports."""
    statements = r"^(?:import|export)\b[^\"'`();=]*[\"']([^\"']+)[\"']|\bimport\s*\(\s*[\"']([^\"']+)[\"']"
    for match in re.finditer(statements, without_comments(text), re.MULTILINE):
        yield match[1] or match[2]


def without_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/|^\s*//[^\n]*", "", text, flags=re.DOTALL | re.MULTILINE)


def room(path: PurePosixPath) -> str:
    return path.parts[0]


def test_the_page_is_small() -> None:
    sizes = {path.relative_to(WEB).as_posix(): path.stat().st_size for path in files()}
    del sizes[EXAMPLE]

    assert sizes
    assert sum(sizes.values()) <= BYTES_MAX, sizes


def test_there_are_only_files_that_the_page_may_have() -> None:
    assert {path.suffix for path in files()} <= KINDS


@pytest.mark.parametrize("path", files(), ids=lambda path: path.relative_to(WEB).as_posix())
def test_a_file_makes_no_html_and_no_code_of_text_and_asks_nobody_else(path: Path) -> None:
    text = path.read_text()

    assert found(AS_CODE, text) == []
    assert path.suffix not in (".html", ".svg") or found(IN_HTML, text) == []


@pytest.mark.parametrize("path", files(), ids=lambda path: path.relative_to(WEB).as_posix())
def test_what_a_file_names_is_there_and_in_a_room_that_it_may_see(path: Path) -> None:
    text, here = path.read_text(), PurePosixPath(path.relative_to(WEB).as_posix())
    if path.suffix == ".html":
        named = [name.removeprefix("/web/") for name in re.findall(r"(?:src|href)=\"(/[^\"#]+)\"", text)]
        assert named
        assert [name for name in named if not (WEB / name).is_file()] == []
    if path.suffix != ".js":
        return
    for name in imports(text):
        assert name.startswith("."), name
        target = (path.parent / name).resolve()
        assert target.is_file(), name
        assert target.is_relative_to(WEB), name
        allowed = MAY_IMPORT.get(room(here))
        there = PurePosixPath(target.relative_to(WEB).as_posix())
        assert allowed is None or room(there) in allowed, name


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("node.innerHTML = text", 1),
        ("document.write(text)", 1),
        ("eval(text); new Function('a', text); setTimeout('go()')", 3),
        ("const medieval = evaluate(text); setTimeout(() => 1)", 0),
        ("fetch('https://elsewhere.invalid')", 1),
        ("import('//elsewhere.invalid/x.js')", 1),
        ('createElementNS("http://www.w3.org/2000/svg", "g")', 0),
        ("url(data:image/png;base64,AA)", 1),
    ],
)
def test_the_patterns_find_what_they_are_for(text: str, number: int) -> None:
    assert len(found(AS_CODE, text)) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ('<p style="color: red">', 1),
        ('<p\n  class="a"\n  onclick="go()">', 1),
        ("<script>go()</script>", 1),
        ('<script type="module" src="/web/main.js"></script><p class="on">one = 1</p>', 0),
    ],
)
def test_the_patterns_find_what_a_page_must_not_have(text: str, number: int) -> None:
    assert len(found(IN_HTML, text)) == number


def test_imports_are_read_in_all_their_forms() -> None:
    text = (
        'import { a } from "./a.js";\nimport {\n  b,\n} from "./b.js";\nimport "./c.js";\n'
        'const d = await import("./d.js");\nexport * from "./e.js";\n// import "./no.js"\n'
        '/** @import {F} from "./no.js" */\nexport const f = "x";\nh("in ", "away from ", "b");\n'
    )

    assert list(imports(text)) == ["./a.js", "./b.js", "./c.js", "./d.js", "./e.js"]
