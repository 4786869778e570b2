"""The explorer's files: what is served of `web/built`, how, and that nothing else is."""

import asyncio
import re
from pathlib import Path

import httpx
import pytest

from forklore_local.server import page
from forklore_local.server.asgi import Receive, Response, Scope, Send, send_response
from forklore_local.server.page import TYPES, answer, find_files, with_page
from forklore_local.version import version

BUILT = Path(__file__).parents[3] / "web" / "built"
CSP = (
    "default-src 'self'; img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; object-src 'none'"
)


async def behind(_scope: Scope, _receive: Receive, send: Send) -> None:
    await send_response(send, Response(418, [], b"behind"))


def ask(path: str, *, method: str = "GET", **headers: str) -> httpx.Response:
    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(with_page(behind))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.request(method, path, headers=headers)

    return asyncio.run(send())


def paths() -> list[str]:
    """Return where each file of the folder is served."""
    names = [path.name for path in BUILT.iterdir() if path.suffix in TYPES and path.name != "index.html"]
    return ["/", *sorted(f"/web/{name}" for name in names)]


def test_the_page_is_served_at_the_root() -> None:
    found = ask("/")

    assert found.status_code == 200
    told = f'\t\t<meta name="forklore-version" content="{version()}" />\n'
    assert found.text.replace(told, "") == (BUILT / "index.html").read_text(encoding="utf-8")
    assert told in found.text
    assert found.headers["content-type"] == "text/html; charset=utf-8"
    assert found.headers["content-security-policy"] == CSP
    assert found.headers["x-content-type-options"] == "nosniff"
    assert found.headers["referrer-policy"] == "no-referrer"
    assert found.headers["cache-control"] == "no-cache"


def test_every_file_of_the_folder_is_served_with_its_type_and_the_same_headers() -> None:
    assert sorted(find_files()) == sorted(paths())
    for path in paths():
        found = ask(path, **{"Accept-Encoding": "identity"})
        assert found.status_code == 200, path
        assert path == "/" or found.content == find_files()[path].read_bytes()
        kind = found.headers["content-type"].partition(";")[0]
        assert kind in {
            "text/html",
            "text/css",
            "text/javascript",
            "image/svg+xml",
            "application/jsonl",
            "font/woff2",
        }
        assert (found.headers["content-security-policy"], found.headers["x-content-type-options"]) == (
            CSP,
            "nosniff",
        )


def test_every_file_that_the_page_names_is_served() -> None:
    texts = "".join(
        path.read_text(encoding="utf-8") for path in BUILT.iterdir() if path.suffix in (".js", ".css")
    )
    page = re.findall(r'(?:src|href)="(/[^"#?]*)"', ask("/").text)
    named = {*page, *re.findall(r"(/web/[\w.-]+\.(?:svg|jsonl|woff2))", texts)}

    assert {name.rpartition(".")[2] for name in named} == {"js", "css", "svg", "jsonl", "woff2"}
    assert sorted(named - find_files().keys()) == []


def test_a_file_with_a_hash_in_its_name_is_kept_for_good_and_compressed_for_who_takes_that() -> None:
    [path] = (path for path in find_files() if re.match(r"/web/index-.*\.js", path))
    plain, small = (ask(path, **{"Accept-Encoding": taken}) for taken in ("gzip;q=0, br", "br, gzip"))

    assert plain.content == small.content == find_files()[path].read_bytes()
    assert "content-encoding" not in plain.headers
    assert small.headers["content-encoding"] == "gzip"
    assert int(small.headers["content-length"]) < len(plain.content) / 2
    for found in (plain, small):
        assert found.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert found.headers["vary"] == "accept-encoding"


def test_a_file_that_the_browser_has_is_not_sent_again() -> None:
    tag = ask("/").headers["etag"]
    again = ask("/", **{"If-None-Match": tag})

    assert (again.status_code, again.content) == (304, b"")
    assert (again.headers["etag"], again.headers["cache-control"]) == (tag, "no-cache")
    assert again.headers["content-security-policy"] == CSP
    assert ask("/", **{"If-None-Match": f'"other", W/{tag}'}).status_code == 304
    assert ask("/", **{"If-None-Match": '"other"'}).status_code == 200


def test_a_changed_file_has_another_tag_and_is_sent(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("old")
    files = find_files(tmp_path)
    old = answer(files, "/")
    assert old
    (tmp_path / "index.html").write_text("new")
    new = answer(files, "/", known=dict(old.headers)["etag"])

    assert new
    assert (new.status, new.body) == (200, b"new")


def test_head_is_answered_like_get() -> None:
    head, get = ask("/", method="HEAD"), ask("/")

    assert head.status_code == 200
    assert head.headers == get.headers


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/conversations"),
        ("GET", "/docs"),
        ("GET", "/web"),
        ("GET", "/web/"),
        ("GET", "/web/index.html"),
        ("GET", "/index.html"),
        ("GET", "/web/../__init__.py"),
        ("GET", "/web/%2e%2e/server.py"),
        ("GET", "/web/%2e%2e/%2e%2e/errors.py"),
        ("GET", "/web/..%2fserver.py"),
        ("GET", "/web/..%5cserver.py"),
        ("GET", "/web/%00"),
        ("GET", "/web//etc/passwd"),
        ("GET", "/WEB/main.js"),
        ("POST", "/"),
        ("DELETE", "/"),
        ("OPTIONS", "/"),
    ],
)
def test_everything_else_goes_to_what_is_behind(method: str, path: str) -> None:
    assert ask(path, method=method).status_code == 418


def test_only_files_of_known_types_are_served_of_a_folder_and_none_below_it(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    for name in ("index.html", "main.js", "list.css", "below/icon.svg", "README.md", "a.json", "js"):
        (tmp_path / name).write_text("x")

    assert set(find_files(tmp_path)) == {"/", "/web/main.js", "/web/list.css"}


def test_without_the_folder_or_a_file_nothing_is_served(tmp_path: Path) -> None:
    assert find_files(tmp_path / "none") == {}
    (tmp_path / "index.html").write_text("x")
    files = find_files(tmp_path)
    (tmp_path / "index.html").unlink()

    assert answer(files, "/") is None


def test_the_page_is_known_by_a_header() -> None:
    assert ask("/").headers[page.MARK] == "explorer"
