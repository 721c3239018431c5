"""The program: command line, configuration, and the wiring of the floors below."""
