"""HTTP/1.1 as a server of this machine reads it: by httptools, which is native.

Where httptools is not installed, uvicorn reads it by h11, which is Python. Each of the two takes
some requests that the other refuses, and where that matters it is settled here.
"""

from asyncio import Protocol
from importlib.util import find_spec

HEAD_BYTES_MAX = 64 * 1024
"""How much of a request is kept while its head, or the next piece of its body, is not whole."""
TOO_LONG, INVALID = "The head of the request is too long.", "Invalid HTTP request received."
READS_HTTP: type[Protocol] | str = "h11"
"""What uvicorn is to read connections with."""

if find_spec("httptools") is not None:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

    class NativeProtocol(HttpToolsProtocol):
        """One connection.

        * What is kept of a head that does not end is bounded, as in h11.
        * A target that names a host leads nowhere: `Host` says by which name the server is called.
        * A header behind the body is left out: what decides by headers has been asked already.
        * A request may ask for another protocol, as clients of HTTP/2 do, and is answered as any
          other. httptools drops its body. So h11 reads it again, and all that follows.
        """

        _head = b""
        """What was received of a request until its head, or a piece of its body, was whole."""
        _begun = 0
        """How many requests have begun in what was received since none was being read."""
        _is_in_request = _is_in_head = False

        def data_received(self, data: bytes) -> None:
            if not self._is_in_request:
                self._head, self._begun = b"", 0
            self._head += data
            super().data_received(data)
            if len(self._head) > HEAD_BYTES_MAX and not self.transport.is_closing():
                self.send_400_response(TOO_LONG)

        def on_message_begin(self) -> None:
            self._is_in_request = self._is_in_head = True
            self._begun += 1
            super().on_message_begin()

        def on_header(self, name: bytes, value: bytes) -> None:
            if self._is_in_head:
                super().on_header(name, value.rstrip(b" \t"))

        def on_headers_complete(self) -> None:
            self._is_in_head = False
            super().on_headers_complete()
            if not self.url.startswith(b"/"):
                path = self.url.partition(b"?")[0]
                self.scope["path"], self.scope["raw_path"] = path.decode("latin-1"), path
            if not self.parser.should_upgrade():
                self._head = b""

        def on_body(self, body: bytes) -> None:
            self._head = b""
            super().on_body(body)

        def on_message_complete(self) -> None:
            self._is_in_request = False
            super().on_message_complete()

        def _should_upgrade(self) -> bool:
            return True  # uvicorn then leaves the request to the next method

        def handle_websocket_upgrade(self) -> None:
            """Let h11 read the request. One behind another is refused: that would be read twice."""
            if self._begun > 1 or not getattr(self.cycle, "response_complete", True):
                self.send_400_response(INVALID)
                return
            from uvicorn.protocols.http.h11_impl import H11Protocol  # few clients ask for one

            self.connections.discard(self)
            again = H11Protocol(self.config, self.server_state, self.app_state)
            again.connection_made(self.transport)
            self.transport.set_protocol(again)
            again.data_received(self._head)

    READS_HTTP = NativeProtocol
