"""Interfaces of other libraries on this engine: code written for them runs after a change of its imports."""
