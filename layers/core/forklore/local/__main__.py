"""`python -m forklore.local`: the local server. It needs the packages of the extra `local`."""

from forklore.extras import from_extra

if __name__ == "__main__":
    with from_extra("local"):
        from forklore.local.server import end, main
    end(main())
