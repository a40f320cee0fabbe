"""Extractors of regular expressions and of JSON."""
