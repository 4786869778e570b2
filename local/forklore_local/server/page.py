"""The explorer, a page in the browser: `/` is the page, `/web/…` are the files that it loads.

The files are those of the folder `web/built` of a checkout. The local server and `forklore explore`
serve them. Each but the page itself has a name that changes with what it holds.
"""

import asyncio
import gzip
import hashlib
import importlib.resources
import re
from collections.abc import Mapping
from importlib.resources.abc import Traversable

from forklore_local.server.asgi import App, Receive, Response, Scope, Send, header_text, send_response
from forklore_local.version import version

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".jsonl": "application/jsonl; charset=utf-8",
    ".woff2": "font/woff2",
}
"""What is served of the folder, by the end of a file's name."""
MARK = "forklore-page"
"""The header by which the page is known to be the explorer."""
STAGE = "forklore-stage"
"""The header by which the page knows that it must ask for a token, and of which server."""
COMPRESSED = {".css", ".js", ".jsonl", ".svg"}
"""What is sent smaller to who takes gzip."""
_POLICY = (
    "default-src 'self'{more}; img-src 'self' data: blob:{at}; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; object-src 'none'"
)
POLICY = _POLICY.format(more="", at="")
SAFE = (
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cache-control", "no-cache"),
)
FOR_GOOD = "public, max-age=31536000, immutable"

Files = Mapping[str, Traversable]
"""A file by the path at which it is served. No other path is served."""


def find_files(folder: Traversable | None = None) -> Files:
    """Return the files of the page. folder: where they are; None: those of this package."""
    folder = folder or importlib.resources.files("forklore_local.server") / "web"
    items = folder.iterdir() if folder.is_dir() else ()
    files = {f"/web/{item.name}": item for item in items if _ending(item.name) in TYPES}
    page = files.pop("/web/index.html", None)
    return files if page is None else {"/": page, **files}


def policy_with(origin: str) -> str:
    """Return the policy of a page whose attachments have their bytes at an origin."""
    return _POLICY.format(more=f"; media-src 'self' {origin}; connect-src 'self' {origin}", at=f" {origin}")


def answer(
    files: Files, path: str, *, known: str = "", encodings: str = "", policy: str = POLICY
) -> Response | None:
    """Return the answer to a GET or HEAD of a path, or None if no file is served there.

    known: the request's If-None-Match. encodings: its Accept-Encoding. policy: what the page may
    load. The page is read each time, so that it names the files of now. It is told the version.
    """
    if path not in files:
        return None
    try:
        content = files[path].read_bytes()
    except FileNotFoundError:  # it was there at the start
        return None
    ending = _ending(files[path].name)
    headers = [
        ("content-security-policy", policy),
        *SAFE,
        (MARK, "explorer"),
        ("content-type", TYPES[ending]),
    ]
    if path == "/":
        told = f'<meta name="forklore-version" content="{version()}" />'
        content = content.replace(b"<title>", f"{told}\n\t\t<title>".encode(), 1)
        tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
        headers.append(("etag", tag))
        if tag in (one.strip().removeprefix("W/") for one in known.split(",")):
            return Response(304, headers, b"")
        return Response(200, headers, content)
    headers = [(name, FOR_GOOD if name == "cache-control" else value) for name, value in headers]
    if ending in COMPRESSED:
        headers.append(("vary", "accept-encoding"))
        if re.search(r"\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))", encodings):
            headers.append(("content-encoding", "gzip"))
            content = gzip.compress(content, mtime=0)
    return Response(200, headers, content)


def with_page(app: App, *, stage: str = "") -> App:
    """Return `app` with the page's paths added. stage: who verifies tokens; "": nobody does."""
    files = find_files()

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        response = None
        if scope["method"] in ("GET", "HEAD") and scope["path"] in files:
            given = dict(scope["headers"])
            known, encodings = (
                header_text(given.get(name, b"")) for name in (b"if-none-match", b"accept-encoding")
            )
            response = await asyncio.to_thread(answer, files, scope["path"], known=known, encodings=encodings)
        if response is None:
            await app(scope, receive, send)
        else:
            if stage:
                response.headers.append((STAGE, stage))
            await send_response(send, response)

    return serve


def _ending(name: str) -> str:
    return name[name.rfind(".") :]
