"""Readers: a module per grammar language, which turns a text and options into a source of a grammar."""
