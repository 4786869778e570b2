"""`python -m forklore_local.server`: the local server. It needs the packages of the extra `local`."""

from forklore.extras import from_extra

if __name__ == "__main__":
    with from_extra("local"):
        from forklore_local.server.server import end, main
    end(main())
