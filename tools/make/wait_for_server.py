"""Wait until a server listens at an address.

python -m tools.make.wait_for_server URL
"""

import socket
import sys
import time
from urllib.parse import urlsplit

MINUTES_MAX = 5
"""How long somebody may take to start the server, whose packages may have to be installed first."""


def main(url: str, seconds_max: float = MINUTES_MAX * 60) -> int:
    """Return 0 when something listens, or 1 if nothing does in time.

    Only a refused connection is waited for. Who calls finds any other fault, and says it.
    """
    end_s = time.monotonic() + seconds_max
    is_told = False
    while True:
        try:
            parts = urlsplit(url)
            port = parts.port or (443 if parts.scheme == "https" else 80)
            socket.create_connection((parts.hostname or "", port), timeout=5).close()
            return 0
        except ConnectionRefusedError:
            if time.monotonic() > end_s:
                break
            if not is_told:
                print(f"Waiting for a server at {url}: start it with `make run` beside this.", flush=True)
                is_told = True
            time.sleep(0.2)
        except (OSError, ValueError):
            return 0
    print(f"No server listens at {url}. Start it with `make run`, then try again.", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
