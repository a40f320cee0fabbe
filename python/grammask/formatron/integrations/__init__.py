"""Adapters of formatters for other libraries."""
