"""moto's DynamoDB over HTTP, for tests that need one store and several processes.

`python -m forklore.local.dynamodb --port N` prints `listening on http://127.0.0.1:N` when it is
ready, and stops on SIGTERM or SIGINT. It stores nothing on disk. It needs flask and flask-cors
beside the extra `local`.
"""

import argparse
import logging
import signal
import sys

from moto.moto_server.werkzeug_app import MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server

from forklore.embedded.moto_speed import lock_moto, speed_up_moto

HOST = "127.0.0.1"


class _RequestHandler(MotoRequestHandler):
    disable_nagle_algorithm = True  # head and body are two writes: 40 ms a call otherwise


def main() -> None:
    """Serve until a signal comes; then SystemExit(0)."""
    parser = argparse.ArgumentParser(prog="python -m forklore.local.dynamodb", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 (the default) takes a free one")
    port = parser.parse_args().port
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit(0))
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    lock_moto()
    speed_up_moto()
    app = create_backend_app("dynamodb")
    server = make_server(HOST, port, app, threaded=True, request_handler=_RequestHandler)
    print(f"listening on http://{HOST}:{server.port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
