"""Schemas of models, functions, examples and JSON Schema."""

from grammask.formatron.schemas import dict_inference, json_schema, pydantic, schema

__all__ = ["dict_inference", "json_schema", "pydantic", "schema"]
