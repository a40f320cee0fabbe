"""Formatters in the generation loops of other libraries."""
