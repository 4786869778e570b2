"""`python -m forklore.cli` is `forklore`."""

from forklore.cli.main import main

if __name__ == "__main__":
    main()
