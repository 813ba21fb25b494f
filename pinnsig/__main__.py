"""`python -m pinnsig`."""

from pinnsig.cli import main

if __name__ == "__main__":
    main()
