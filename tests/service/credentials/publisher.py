"""An issuer's web site on this machine, by https, with a certificate of a test authority."""

import datetime as dt
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from forklore_service.credentials.published_keys import DOCUMENT

TENANT = "/tenant"
KEYS = "/tenant/keys"
Answer = tuple[int, dict[str, str], bytes]
Serve = Callable[[BaseHTTPRequestHandler], Answer | None]
"""Takes a request; returns status, headers and body, or None if it has already answered."""


def certified(folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Return TLS contexts: of a server for localhost, and of a client that trusts only it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    today = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(today - dt.timedelta(hours=1))
        .not_valid_after(today + dt.timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, SHA256())
    )
    file = folder / "certificate.pem"
    file.write_bytes(
        certificate.public_bytes(Encoding.PEM)
        + key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(file)
    return server, ssl.create_default_context(cafile=file)


def _nothing(_: BaseHTTPRequestHandler) -> Answer:
    return 404, {}, b""


class Publisher:
    """Serves the issuer's document and keys, or what a test sets instead."""

    def __init__(self, port: int, key_set: str) -> None:
        self.origin = f"https://localhost:{port}"
        self.issuer = f"{self.origin}{TENANT}"
        self.asked: list[str] = []
        self.served: dict[str, Serve] = {}
        self.document = {"issuer": self.issuer, "jwks_uri": f"{self.origin}{KEYS}"}
        self.publish(key_set)

    def publish(self, key_set: str) -> None:
        """From now on, serve the document and this key set."""
        self.served[f"{TENANT}{DOCUMENT}"] = lambda _: (200, {}, json.dumps(self.document).encode())
        self.served[KEYS] = lambda _: (200, {}, key_set.encode())

    def fail(self, serve: Serve = lambda _: (503, {}, b"")) -> None:
        """From now on, serve the keys in another way. The default answers 503."""
        self.served[KEYS] = serve

    @property
    def fetches(self) -> int:
        """How often the document was fetched. A fetch of keys begins with it."""
        return self.asked.count(f"{TENANT}{DOCUMENT}")


@contextmanager
def publishing(tls: ssl.SSLContext, key_set: str) -> Iterator[Publisher]:
    """Serve on a free port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        timeout = 10

        def do_GET(self) -> None:
            publisher.asked.append(self.path)
            serve = publisher.served.get(self.path, _nothing)
            try:
                answer = serve(self)
                if answer is not None:
                    self._send(*answer)
            except OSError:  # the client has closed the connection
                self.close_connection = True

        def _send(self, status: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Stay silent."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """Ignore a client that refuses the certificate."""

    with Server(("127.0.0.1", 0), Handler) as server:
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        publisher = Publisher(server.server_address[1], key_set)
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield publisher
        finally:
            server.shutdown()
            thread.join()


def dripping(first: bytes) -> Serve:
    """Return a handler that starts an answer and then sends single bytes forever."""

    def serve(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(first)
        while True:
            handler.wfile.write(b" ")
            time.sleep(0.02)

    return serve


def endless(first: bytes) -> Serve:
    """Return a handler that starts an answer and then sends as much as it can forever."""

    def serve(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(first)
        while True:
            handler.wfile.write(b" " * 65_536)

    return serve
