"""Adapters for other libraries: one file each, imported only where the library is installed."""
