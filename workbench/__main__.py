"""`python -m workbench` does what the command `workbench` does."""

from workbench.cli import main

if __name__ == "__main__":
    main()
