"""Runs the command line: ``python -m grammask``."""

from grammask.cli import main

main()
