"""JSON schemas of the core schemas of Pydantic: what a validator reads and its serializer writes.

A core schema is a tree of nodes (``pydantic_core.core_schema``). Functions of Pydantic itself are recognised by their
names; a function of the user may refuse any value, so it is a constraint that cannot be enforced. Serializers of the
user are not considered.
"""

from __future__ import annotations

import collections
import functools
import operator
from typing import TYPE_CHECKING, Any

from grammask.errors import UnsupportedType
from grammask.schemas.constraints import content_keywords
from grammask.schemas.containers import (
    Member,
    fixed_array,
    items_schema,
    mapping_schema,
    object_schema,
    set_schema,
)
from grammask.schemas.extra_types import codes
from grammask.schemas.json_strings import json_pattern
from grammask.schemas.scalar_values import (
    base64_text,
    key_schema,
    matching,
    scalar,
    unenforceable,
)
from grammask.schemas.text_forms import addresses

if TYPE_CHECKING:
    from collections.abc import Callable

    from grammask.schemas.definitions import Definitions

__all__ = ["CoreSchemaReader"]

_Schema = dict[str, Any]
_Node = dict[str, Any]

_TRANSPARENT_FUNCTIONS = (
    "GenerateSchema._literal_schema.<locals>.<lambda>",
    "GenerateSchema._path_schema.<locals>.path_validator",
    "Secret.__get_pydantic_core_schema__.<locals>.<lambda>",
    "SecretBytes",
    "SecretStr",
    "_BaseUrl.__get_pydantic_core_schema__.<locals>.wrap_val",
    "defaultdict_validator",
    "deque_validator",
    "path_schema_prepare_pydantic_annotations.<locals>.path_validator",
    "sequence_validator",
)
"""Functions of Pydantic that accept all values of the schema that they wrap."""
_TRANSPARENT_CLASSES = (collections.Counter, collections.OrderedDict)
"""Classes that Pydantic before 2.13 calls with a dictionary."""
_VALUE_OF_MEMBER = operator.attrgetter("value").__reduce__()
"""The function that Pydantic calls with members of enumerations under ``use_enum_values``."""
_FUNCTIONS: dict[str, Callable[[], _Schema]] = {
    "ByteSize._validate": lambda: scalar({"type": "int", "ge": 0}, {}) or {},
    "EmailStr._validate": lambda: matching(addresses.EMAIL),
    "IPvAnyAddress._validate": lambda: matching(f"{addresses.IPV4}|{addresses.IPV6}"),
    "IPvAnyInterface._validate": lambda: matching(f"{addresses.IPV4_INTERFACE}|{addresses.IPV6_INTERFACE}"),
    "IPvAnyNetwork._validate": lambda: matching(
        f"{addresses.ipv4_network_pattern()}|{addresses.ipv6_network_pattern()}"
    ),
    "fraction_validator": lambda: scalar({"type": "fraction"}, {}) or {},
    "ip_v4_address_validator": lambda: matching(addresses.IPV4),
    "ip_v4_interface_validator": lambda: matching(addresses.IPV4_INTERFACE),
    "ip_v4_network_validator": lambda: matching(addresses.ipv4_network_pattern()),
    "ip_v6_address_validator": lambda: matching(addresses.IPV6),
    "ip_v6_interface_validator": lambda: matching(addresses.IPV6_INTERFACE),
    "ip_v6_network_validator": lambda: matching(addresses.ipv6_network_pattern()),
}
"""Functions of Pydantic that make values of texts."""
_LENGTHS = {
    "min_length_validator": ("minLength", "minItems"),
    "max_length_validator": ("maxLength", "maxItems"),
}
"""Functions of Pydantic that check the length of a text or sequence."""
_WITHOUT_JSON_VALUES = {"callable", "is-instance", "is-subclass", "missing-sentinel"}
"""Nodes that accept objects of Python only, so as members of a union they add no text."""
_UNHASHABLE = {
    "counter",
    "deque",
    "defaultdict",
    "dict",
    "generator",
    "list",
    "ordered-dict",
    "set",
    "typed-dict",
}


class CoreSchemaReader:
    """Reads core schemas and adds the definitions of their named types."""

    def __init__(self, definitions: Definitions, max_key_digits: int) -> None:
        self._definitions = definitions
        self._max_key_digits = max_key_digits
        self._nodes: dict[str, _Node] = {}

    def schema(self, node: _Node, path: str, config: dict[str, Any] | None = None) -> _Schema:
        """Returns the schema of a node.

        Args:
            node: The node.
            path: Its location, for errors.
            config: The configuration of the model around it.

        Raises:
            UnsupportedType: The node has no JSON form.
        """
        if node["type"] == "definition-ref":
            target = self._nodes.get(node["schema_ref"])
            if target is None:
                msg = f"{path}: the core schema lacks the definition {node['schema_ref']!r}"
                raise UnsupportedType(msg)
            return self._named(target, path, config or {})
        return (
            self._named(node, path, config or {})
            if "ref" in node
            else self._anonymous(node, path, config or {})
        )

    def _named(self, node: _Node, path: str, config: dict[str, Any]) -> _Schema:
        name = getattr(node.get("cls"), "__name__", None) or node["ref"].split(":")[0].rpartition(".")[2]
        return self._definitions.reference(
            ("core", node["ref"]),
            name,
            lambda: self._anonymous(node, name if "cls" in node else path, config),
        )

    def _anonymous(self, node: _Node, path: str, config: dict[str, Any]) -> _Schema:
        return _with_content(self._of_type(node, path, config), node)

    def _of_type(self, node: _Node, path: str, config: dict[str, Any]) -> _Schema:
        simple = scalar(node, config)
        if simple is not None:
            return simple
        kind = node["type"].replace("-", "_")
        method = getattr(self, "_definitions_" if kind == "definitions" else f"_{kind}", None)
        if method is None or not callable(method):
            msg = f"{path}: {node['type']} has no JSON form that grammask knows"
            raise UnsupportedType(msg)
        schema: _Schema = method(node, path, config)
        return schema

    def _any(self, node: _Node, path: str, config: dict[str, Any]) -> _Schema:
        del node, path, config
        return self._definitions.anything()

    def _definitions_(self, node: _Node, path: str, config: dict[str, Any]) -> _Schema:
        self._nodes.update((each["ref"], each) for each in node["definitions"])
        return self.schema(node["schema"], path, config)

    def _inner(self, node: _Node, path: str, config: dict[str, Any]) -> _Schema:
        return self.schema(node["schema"], path, config)

    _default = _custom_error = _inner

    def _nullable(self, node: _Node, path: str, config: dict[str, Any]) -> _Schema:
        return {"anyOf": [self.schema(node["schema"], path, config), {"type": "null"}]}

    def _json_or_python(self, node: _Node, path: str, config: dict[str, Any]) -> _Schema:
        return self.schema(node["json_schema"], path, config)

    def _lax_or_strict(self, node: _Node, path: str, config: dict[str, Any]) -> _Schema:
        is_strict = node.get("strict", config.get("strict", False))
        return self.schema(node["strict_schema" if is_strict else "lax_schema"], path, config)

    def _chain(self, node: _Node, path: str, config: dict[str, Any]) -> _Schema:
        first, *others = node["steps"]
        classes = [getattr(each.get("cls"), "__name__", "") for each in others]
        if first["type"] == "any" and classes == ["Hashable"]:
            return {"anyOf": [{"type": ["string", "boolean", "null"]}, scalar({"type": "float"}, {})]}
        schema = self.schema(first, path, config)
        return unenforceable(schema, f"{path}: further steps check the value") if others else schema

    def _function_after(self, node: _Node, path: str, config: dict[str, Any]) -> _Schema:
        function = node["function"]["function"]
        name = _pydantic_name(function)
        if name in _FUNCTIONS:
            return _FUNCTIONS[name]()
        if name == "EncodedBytes.decode" and function.__self__.encoder.__name__ == "Base64Encoder":
            return base64_text()
        texts = codes(function)
        if texts is not None:
            return {"type": "string", "enum": texts}
        schema = self.schema(node["schema"], path, config)
        if name in _TRANSPARENT_FUNCTIONS or function in _TRANSPARENT_CLASSES:
            return schema
        if (
            node["schema"]["type"] == "enum"
            and isinstance(function, operator.attrgetter)
            and function.__reduce__() == _VALUE_OF_MEMBER
        ):
            return schema
        is_list = schema.get("type") == "array" and "set" not in node["schema"]["type"]
        if name in _LENGTHS and (is_list or _is_secret_text(node["schema"])):
            keyword = _LENGTHS[name][is_list]
            return {
                "type": schema["type"],
                "allOf": [schema, {keyword: next(iter(function.keywords.values()))}],
            }
        return unenforceable(schema, f"{path}: the function {_function_name(function)} may refuse a value")

    _function_before = _function_wrap = _function_after

    def _function_plain(self, node: _Node, path: str, config: dict[str, Any]) -> _Schema:
        del config
        function = node["function"]["function"]
        name = _pydantic_name(function)
        if name in _FUNCTIONS:
            return _FUNCTIONS[name]()
        return unenforceable(
            self._definitions.anything(),
            f"{path}: the function {_function_name(function)} may refuse a value",
        )

    def _multi_host_url(self, node: _Node, path: str, config: dict[str, Any]) -> _Schema:
        del config
        schemes = node.get("allowed_schemes")
        schema = matching(addresses.url_pattern(schemes, has_host=bool(node.get("host_required"))))
        return unenforceable(schema, f"{path}: URLs with several hosts have no regular expression here")

    def _union(self, node: _Node, path: str, config: dict[str, Any]) -> _Schema:
        choices = [choice[0] if isinstance(choice, tuple) else choice for choice in node["choices"]]
        kept = [choice for choice in choices if choice["type"] not in _WITHOUT_JSON_VALUES]
        return {"anyOf": [self.schema(choice, path, config) for choice in kept or choices]}

    def _tagged_union(self, node: _Node, path: str, config: dict[str, Any]) -> _Schema:
        discriminator = node["discriminator"]
        names: list[str] = []
        if isinstance(discriminator, str):
            names = [discriminator]
        elif isinstance(discriminator, list):
            paths = discriminator if isinstance(discriminator[0], list) else [discriminator]
            names = [each[0] for each in paths if len(each) == 1]
        choices = []
        for tag, choice in node["choices"].items():
            target = choice
            while isinstance(target, str):
                target = node["choices"][target]
            schema = self.schema(target, path, config)
            value = getattr(tag, "value", tag)
            tagged = [{"properties": {name: {"const": value}}, "required": [name]} for name in names]
            choices.append({"allOf": [schema, {"anyOf": tagged}]} if tagged else schema)
        schema = {"anyOf": choices}
        return (
            schema if names else unenforceable(schema, f"{path}: a function selects the member of the union")
        )

    def _list(self, node: _Node, path: str, config: dict[str, Any]) -> _Schema:
        items = node.get("items_schema")
        schema = (
            self.schema(items, f"{path}[]", config) if items is not None else self._definitions.anything()
        )
        return items_schema(schema, node.get("min_length"), node.get("max_length"))

    _generator = _deque = _list

    def _set(self, node: _Node, path: str, config: dict[str, Any]) -> _Schema:
        items = node.get("items_schema") or {"type": "any"}
        if items["type"] == "any":
            items = {
                "type": "union",
                "choices": [{"type": kind} for kind in ("none", "bool", "int", "float", "str")],
            }
        schema = set_schema(self.schema(items, f"{path}[]", config), node, path)
        if self._is_hashable(items, ()):
            return schema
        return unenforceable(schema, f"{path}: items of a set are hashable")

    _frozenset = _set

    def _is_hashable(self, node: _Node, seen: tuple[str, ...]) -> bool:
        """Whether all values of a node are certainly hashable."""
        kind = node["type"]
        if kind == "definition-ref":
            reference = node["schema_ref"]
            return reference in seen or self._is_hashable(self._nodes[reference], (*seen, reference))
        if kind in ("model", "dataclass"):
            parts = node["cls"].__hash__ is not None
            fields = _fields_of(node["schema"])
            return parts and all(self._is_hashable(each["schema"], seen) for _, each in fields)
        inner = [
            node[name] for name in ("schema", "json_schema", "lax_schema") if isinstance(node.get(name), dict)
        ]
        items = node.get("items_schema") or []
        inner += [items] if isinstance(items, dict) else items
        inner += [choice[0] if isinstance(choice, tuple) else choice for choice in node.get("choices") or ()]
        if kind == "tagged-union":
            inner = [choice for choice in node["choices"].values() if isinstance(choice, dict)]
        inner += [each["schema"] for each in node.get("fields") or () if isinstance(each, dict)]
        return kind not in _UNHASHABLE | {"any"} and all(self._is_hashable(each, seen) for each in inner)

    def _tuple(self, node: _Node, path: str, config: dict[str, Any]) -> _Schema:
        items = [
            self.schema(item, f"{path}[{index}]", config) for index, item in enumerate(node["items_schema"])
        ]
        variadic = node.get("variadic_item_index")
        low, high = node.get("min_length"), node.get("max_length")
        if variadic is None:
            return fixed_array(items, len(items))
        if variadic != len(items) - 1:
            msg = f"{path}: items after the repeated one have no JSON form that grammask knows"
            raise UnsupportedType(msg)
        schema = items_schema(items[-1], low, high)
        if variadic:
            schema["prefixItems"] = items[:-1]
            schema["minItems"] = max(low or 0, variadic)
        return schema

    def _named_tuple(self, node: _Node, path: str, config: dict[str, Any]) -> _Schema:
        fields = [(each["name"], each["schema"]) for each in node["fields"]]
        items = [self.schema(inner, f"{path}.{name}", config) for name, inner in fields]
        return fixed_array(items, sum(not _has_default(inner) for _, inner in fields))

    def _call(self, node: _Node, path: str, config: dict[str, Any]) -> _Schema:
        arguments = node["arguments_schema"]
        if not hasattr(node["function"], "_fields") or arguments["type"] != "arguments":
            msg = f"{path}: a call has no JSON form that grammask knows"
            raise UnsupportedType(msg)
        fields = [(each["name"], each["schema"]) for each in arguments["arguments_schema"]]
        items = [self.schema(inner, f"{path}.{name}", config) for name, inner in fields]
        return fixed_array(items, sum(not _has_default(inner) for _, inner in fields))

    def _dict(self, node: _Node, path: str, config: dict[str, Any]) -> _Schema:
        keys = self.keys(node.get("keys_schema") or {"type": "any"}, path, config)
        values = node.get("values_schema") or {"type": "any"}
        return mapping_schema(keys, self.schema(values, f"{path}{{}}", config), node, path)

    _ordered_dict = _dict

    def _counter(self, node: _Node, path: str, config: dict[str, Any]) -> _Schema:
        return self._dict({"values_schema": {"type": "int"}, **node}, path, config)

    def keys(self, node: _Node, path: str, config: dict[str, Any]) -> _Schema:
        """Returns the schema of the names of an object whose keys have the type of a node.

        Raises:
            UnsupportedType: The texts of the keys are unknown.
        """
        kind = node["type"]
        if kind == "definitions":
            self._nodes.update((each["ref"], each) for each in node["definitions"])
            return self.keys(node["schema"], path, config)
        if kind == "definition-ref":
            return self.keys(self._nodes[node["schema_ref"]], path, config)
        if kind in ("default", "nullable", "custom-error"):
            return self.keys(node["schema"], path, config)
        if kind == "union":
            choices = [choice[0] if isinstance(choice, tuple) else choice for choice in node["choices"]]
            return {"anyOf": [self.keys(choice, path, config) for choice in choices]}
        if kind in ("function-after", "function-plain", "function-wrap", "lax-or-strict", "json-or-python"):
            schema = self._anonymous(node, path, config)
            if schema.get("type") == "string":
                return schema
        return key_schema(node, config, path, self._max_key_digits)

    def _model(self, node: _Node, path: str, config: dict[str, Any]) -> _Schema:
        del config
        own = node.get("config") or {}
        schema = self.schema(node["schema"], path, own)
        if node.get("custom_init"):
            schema = unenforceable(schema, f"{path}: the method __init__ may refuse a value")
        return self._after_init(schema, node, path)

    def _dataclass(self, node: _Node, path: str, config: dict[str, Any]) -> _Schema:
        schema = self.schema(node["schema"], path, node.get("config") or config)
        name = "__post_init__" if node.get("post_init") else None
        return self._after_init(schema, {**node, "post_init": name}, path)

    def _after_init(self, schema: _Schema, node: _Node, path: str) -> _Schema:
        name = node.get("post_init")
        if not name:
            return schema
        module = getattr(getattr(node["cls"], name, None), "__module__", "") or ""
        if module.partition(".")[0] == "pydantic":
            return schema
        return unenforceable(schema, f"{path}: the method {name} may refuse a value")

    def _model_fields(self, node: _Node, path: str, config: dict[str, Any]) -> _Schema:
        fields = [(name, each, not _has_default(each["schema"])) for name, each in node["fields"].items()]
        return self._object(node, fields, path, config)

    def _dataclass_args(self, node: _Node, path: str, config: dict[str, Any]) -> _Schema:
        fields = [(each["name"], each, not _has_default(each["schema"])) for each in node["fields"]]
        return self._object(node, fields, path, config)

    def _typed_dict(self, node: _Node, path: str, config: dict[str, Any]) -> _Schema:
        total = node.get("total", True)
        fields = [(name, each, each.get("required", total)) for name, each in node["fields"].items()]
        return self._object(node, fields, path, node.get("config") or config)

    def _object(
        self, node: _Node, fields: list[tuple[str, _Node, bool]], path: str, config: dict[str, Any]
    ) -> _Schema:
        extra = node.get("extra_behavior") or config.get("extra_fields_behavior") or "ignore"
        members = []
        for name, each, is_required in fields:
            is_read = each.get("init", True) is not False
            if not is_read and extra != "ignore":
                continue
            names = _names(name, each, config)
            if names is None:
                if is_required:
                    msg = f"{path}.{name}: a path as an alias has no JSON form that grammask knows"
                    raise UnsupportedType(msg)
                continue
            members.append(
                Member(
                    schema=_with_content(self.schema(each["schema"], f"{path}.{name}", config), each),
                    is_required=is_required and is_read,
                    names=names,
                )
            )
        if extra == "ignore":
            members += self._computed(node, path, config)
        others: _Schema | bool = False
        if extra == "allow":
            extras = node.get("extras_schema")
            others = self.schema(extras, f"{path}{{}}", config) if extras else self._definitions.anything()
        if any(member.names[2] is None for member in members):
            # The serializer writes names that the validator does not read.
            members = [
                Member(
                    schema=each.schema, is_required=each.is_required, names=(*each.names[:2], each.names[0])
                )
                for each in members
            ]
        return object_schema(members, others=others)

    def _computed(self, node: _Node, path: str, config: dict[str, Any]) -> list[Member]:
        """Returns the computed fields, which the serializer writes and the validator ignores."""
        members = []
        for each in node.get("computed_fields") or ():
            name = each["property_name"]
            try:
                schema = self.schema(each["return_schema"], f"{path}.{name}", config)
            except UnsupportedType:
                schema = self._definitions.anything()
            alias = each.get("alias") or name
            members.append(Member(schema=schema, is_required=False, names=(alias, name, alias)))
        return members

    def _json(self, node: _Node, path: str, config: dict[str, Any]) -> _Schema:
        inner = node.get("schema") or {"type": "any"}
        pattern = json_pattern(inner)
        if pattern is not None:
            return matching(pattern)
        del config
        message = f"{path}: JSON inside of a string nests, so it has no regular expression"
        return unenforceable({"type": "string"}, message)


def _with_content(schema: _Schema, node: _Node) -> _Schema:
    """Returns a schema with the keywords about contents that the metadata of a node or a field has."""
    content = content_keywords((node.get("metadata") or {}).get("pydantic_js_extra"))
    return {"allOf": [schema, content]} if content else schema


def _fields_of(node: _Node) -> list[tuple[str, _Node]]:
    fields = node.get("fields") or {}
    return list(fields.items()) if isinstance(fields, dict) else [(each["name"], each) for each in fields]


def _has_default(node: _Node) -> bool:
    return node["type"] == "default" and ("default" in node or "default_factory" in node)


def _names(name: str, field: _Node, config: dict[str, Any]) -> tuple[str | None, ...] | None:
    """Returns the names of a field in the three ways to write an object: by alias, by name, as serialized by alias.

    A way that is not read is that by alias; the last name is None in that case. None: a path is the only alias.
    """
    alias = field.get("validation_alias")
    reads_alias = config.get("validate_by_alias", True) is not False and alias is not None
    reads_name = (
        alias is None or config.get("validate_by_name", False) or config.get("populate_by_name", False)
    )
    accepted: list[str] = []
    if reads_alias:
        paths: list[Any] = (
            alias if isinstance(alias, list) and alias and isinstance(alias[0], list) else [alias]
        )
        for each in paths:
            if isinstance(each, str):
                accepted.append(each)
            elif len(each) == 1:
                accepted.append(each[0])
    if reads_name:
        accepted.append(name)
    if not accepted:
        return None
    written = field.get("serialization_alias") or name
    return accepted[0], name if reads_name else accepted[0], written if written in accepted else None


def _is_secret_text(node: _Node) -> bool:
    """Whether a node, or the innermost one that functions of Pydantic check, is that of ``SecretStr``."""
    while node["type"] in ("function-after", "default"):
        node = node["schema"]
    inner = node.get("lax_schema", node).get("json_schema", {})
    return _pydantic_name(inner.get("function", {}).get("function")) == "SecretStr"


def _pydantic_name(function: Any) -> str | None:
    """Returns the qualified name of a function of Pydantic; None for other functions."""
    while isinstance(function, functools.partial):
        function = function.func
    module = getattr(function, "__module__", "") or ""
    if module.partition(".")[0] != "pydantic":
        return None
    name = getattr(function, "__qualname__", None)
    return name if isinstance(name, str) else None


def _function_name(function: Any) -> str:
    return getattr(function, "__qualname__", None) or repr(function)
