"""Interfaces of other libraries on this engine: code for these libraries runs after a change of its imports."""
