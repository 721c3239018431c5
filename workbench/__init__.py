"""The program: command line, configuration, and the wiring of the floors below."""

__version__ = "0.1.0"
