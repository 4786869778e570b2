"""The explorer, a page in the browser: `/` is the page, `/web/…` are the files that it loads.

The files are those of the folder `web/` of a checkout. The local server and `forklore explore`
serve them.
"""

import asyncio
import hashlib
import importlib.resources
from collections.abc import Iterator, Mapping
from importlib.resources.abc import Traversable

from forklore_local.server.asgi import App, Receive, Response, Scope, Send, header_text, send_response

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".jsonl": "application/jsonl; charset=utf-8",
}
"""What is served of the folder, by the end of a file's name."""
MARK = "forklore-page"
"""The header by which the page is known to be the explorer."""
POLICY = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"
SAFE = (
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cache-control", "no-cache"),
)
HEADERS = (("content-security-policy", POLICY), *SAFE, (MARK, "explorer"))

Files = Mapping[str, Traversable]
"""A file by the path at which it is served. No other path is served."""


def find_files(folder: Traversable | None = None) -> Files:
    """Return the files of the page. folder: where they are; None: those of this package."""
    files = dict(_walk(folder or importlib.resources.files("forklore_local.server") / "web", "/web"))
    page = files.pop("/web/index.html", None)
    return files if page is None else {"/": page, **files}


def answer(files: Files, path: str, *, known: str = "") -> Response | None:
    """Return the answer to a GET or HEAD of a path, or None if no file is served there.

    known: the request's If-None-Match. A file is read each time, so a change shows at once.
    """
    if path not in files:
        return None
    try:
        content = files[path].read_bytes()
    except FileNotFoundError:  # it was there at the start
        return None
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = [*HEADERS, ("etag", tag)]
    if tag in (one.strip().removeprefix("W/") for one in known.split(",")):
        return Response(304, headers, b"")
    return Response(200, [*headers, ("content-type", TYPES[_ending(files[path].name)])], content)


def with_page(app: App) -> App:
    """Return `app` with the page's paths added."""
    files = find_files()

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        response = None
        if scope["method"] in ("GET", "HEAD") and scope["path"] in files:
            known = header_text(dict(scope["headers"]).get(b"if-none-match", b""))
            response = await asyncio.to_thread(answer, files, scope["path"], known=known)
        if response is None:
            await app(scope, receive, send)
        else:
            await send_response(send, response)

    return serve


def _walk(folder: Traversable, path: str) -> Iterator[tuple[str, Traversable]]:
    """Yield what is served of a folder and of those in it, with its path."""
    if not folder.is_dir():
        return
    for item in folder.iterdir():
        if item.is_dir():
            yield from _walk(item, f"{path}/{item.name}")
        elif _ending(item.name) in TYPES:
            yield f"{path}/{item.name}", item


def _ending(name: str) -> str:
    return name[name.rfind(".") :]
