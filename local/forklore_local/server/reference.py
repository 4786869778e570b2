"""The API reference in a browser: `/docs` is Swagger UI and shows `/openapi.json`.

Nothing comes from a CDN. Only the local server has these paths, so they are handled before the
gateway.
"""

import asyncio
import importlib.resources
import json
from collections.abc import Callable, Mapping
from typing import Any

from forklore_local.server.asgi import App, Receive, Response, Scope, Send, send_response
from forklore_local.server.page import POLICY, SAFE

FILES = {  # of the package flask-swagger-ui; only its files are used
    "swagger-ui.css": "text/css; charset=utf-8",
    "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
    "favicon-32x32.png": "image/png",
}
PATHS = ("/docs", "/openapi.json")
"""How the paths of the reference begin. No other request waits for a thread here."""
PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>forklore: API reference</title>
<link rel="icon" href="/docs/favicon-32x32.png">
<link rel="stylesheet" href="/docs/swagger-ui.css">
<div id="swagger-ui"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/page.js"></script>
</html>
"""
SCRIPT = """\
// An error among an operation's responses is one line, until it is clicked.
const foldedErrors = () => ({
  wrapComponents: {
    response: (Response, {React}) => function Folded(props) {
      const [open, setOpen] = React.useState(!/^[45]/.test(props.code))
      if (open) return React.createElement(Response, props)
      const line = React.createElement("button", {className: "btn", onClick: () => setOpen(true)}, "show")
      return React.createElement("tr", {className: "response"},
        React.createElement("td", {className: "response-col_status"}, props.code),
        React.createElement("td", {}, props.response.get("description").replaceAll("`", "") + " ", line))
    }
  }
})
SwaggerUIBundle({
  url: "/openapi.json", dom_id: "#swagger-ui", deepLinking: true, validatorUrl: null,
  plugins: [foldedErrors]
})
"""
HEADERS = (
    ("content-security-policy", f"{POLICY}; img-src 'self' data:"),  # Swagger UI has its icons there
    *SAFE,
)

Document = Callable[[], Mapping[str, Any]]


def with_reference(app: App, document: Document) -> App:
    """Return `app` with the paths of the reference added.

    document: returns the OpenAPI document.
    """

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        asked = scope["method"] in ("GET", "HEAD") and scope["path"].startswith(PATHS)
        response = await asyncio.to_thread(_find, scope["path"], document) if asked else None
        if response is None:
            await app(scope, receive, send)
        else:
            await send_response(send, response)

    return serve


def _find(path: str, document: Document) -> Response | None:
    """Return the answer for a path of the reference, or None for any other path."""
    if path in ("/docs", "/docs/"):
        return _answer("text/html; charset=utf-8", PAGE.encode())
    if path == "/docs/page.js":
        return _answer("text/javascript; charset=utf-8", SCRIPT.encode())
    if path == "/openapi.json":
        return _answer("application/json", json.dumps(document(), ensure_ascii=False).encode())
    folder, _, name = path.rpartition("/")
    if folder != "/docs" or name not in FILES:
        return None
    file = importlib.resources.files("flask_swagger_ui") / "dist" / name
    return _answer(FILES[name], file.read_bytes())


def _answer(content_type: str, body: bytes) -> Response:
    return Response(200, [*HEADERS, ("content-type", content_type)], body)
