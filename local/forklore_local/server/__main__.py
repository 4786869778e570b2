"""The local server: `python -m forklore_local.server`. It needs the extra `local`."""

import sys

if __name__ == "__main__":
    try:
        from forklore_local.server.server import end, main
    except ModuleNotFoundError as error:
        sys.stderr.write(f"forklore: {error.name} is not installed: pip install 'forklore[local]'\n")
        sys.exit(2)
    end(main())
