"""`python -m kmle` is the command `kmle`."""

from .cli import main

if __name__ == "__main__":
    main()
