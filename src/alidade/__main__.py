"""`python -m alidade` is the `alidade` command."""

from alidade.cli import main

if __name__ == "__main__":
    main()
