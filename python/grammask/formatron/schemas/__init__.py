"""Schemas from models, functions, examples and JSON Schema documents."""

from grammask.formatron.schemas import dict_inference, json_schema, pydantic, schema

__all__ = ["dict_inference", "json_schema", "pydantic", "schema"]
