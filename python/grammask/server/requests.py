"""Reads OpenAI's request bodies strictly.

An unsupported field that would change the meaning of an answer is an error, and is not ignored.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grammask.grammar import Grammar
from grammask.integrations.serving import request_grammars
from grammask.tools import parsed_style

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from grammask._grammask import Limits
    from grammask.integrations.serving.request_budget import BudgetPolicy
    from grammask.tools import ReasoningMode, ToolStyle
    from grammask.vocabulary import Vocabulary

_WITHOUT_EFFECT = {
    "metadata", "model", "prompt_cache_key", "safety_identifier", "service_tier", "store",
    "user", "verbosity", "reasoning_effort",
}  # fmt: skip
"""Fields without effect."""

_NEUTRAL: dict[str, tuple[Any, ...]] = {
    "add_generation_prompt": (True,), "best_of": (1,), "chat_template_kwargs": ({},),
    "continue_final_message": (False,), "echo": (False,), "frequency_penalty": (0,), "ignore_eos": (False,),
    "include_reasoning": (True,), "include_stop_str_in_output": (False,), "length_penalty": (1,),
    "min_p": (0,), "min_tokens": (0,), "modalities": (["text"],), "n": (1,),
    "presence_penalty": (0,), "repetition_penalty": (1,), "return_token_ids": (False,),
    "separate_reasoning": (True,), "skip_special_tokens": (True,), "spaces_between_special_tokens": (True,),
    "stream_reasoning": (True,), "suffix": (None, ""), "top_k": (-1, 0), "use_beam_search": (False,),
}  # fmt: skip
"""Unsupported fields, of OpenAI, vLLM and SGLang, with the values that are equivalent to their absence."""

_NAMES_OF_CONSTRAINTS = {
    # vLLM before 0.12.
    "guided_choice": "choice", "guided_grammar": "grammar", "guided_json": "json", "guided_regex": "regex",
    # SGLang; llama.cpp has the first one, too.
    "json_schema": "json", "ebnf": "grammar", "regex": "regex", "structural_tag": "structural_tag",
}  # fmt: skip
"""Fields of other servers that mean a kind of ``structured_outputs``."""
_WHITESPACE_PATTERN = "guided_whitespace_pattern"
"""vLLM's field beside ``guided_json``, before 0.12."""

_CONSTRAINTS = ("response_format", "structured_outputs", "grammar")
_TOOLS = {"parallel_tool_calls", "tool_choice", "tools"}
_SAMPLING = {
    "logit_bias", "logprobs", "max_completion_tokens", "max_tokens", "seed", "stop", "stream", "stream_options",
    "temperature", "top_logprobs", "top_p", "trace",
}  # fmt: skip
_MAX_ALTERNATIVES = 20
_MAX_BIAS = 100

_NEVER_NULL = {
    "completions": {"model", "user"},
    "chat": {"messages", "model", "parallel_tool_calls", "response_format", "tool_choice", "tools", "user"},
    "responses": {"input", "model", "text", "tool_choice", "tools", "user"},
}
"""Fields that must not be null in requests of a kind by OpenAI's API reference.

The other fields of OpenAI and those of other servers may be, which is the same as their absence.
"""


_TYPES_WITHOUT_EFFECT: dict[str, tuple[type, str]] = {
    "metadata": (dict, "an object"), "model": (str, "a text"), "prompt_cache_key": (str, "a text"),
    "reasoning": (dict, "an object"), "reasoning_effort": (str, "a text"), "safety_identifier": (str, "a text"),
    "service_tier": (str, "a text"), "store": (bool, "true or false"), "user": (str, "a text"),
    "verbosity": (str, "a text"),
}  # fmt: skip
"""The types of fields without effect: a wrong one is a mistake of the client."""


class BadRequest(Exception):
    """A request that cannot be served, with the field at fault."""

    def __init__(self, message: str, param: str | None = None, code: str = "invalid_value") -> None:
        super().__init__(message)
        self.param = param
        self.code = code


@dataclass(frozen=True)
class Sampling:
    """Options for sampling and stopping."""

    max_tokens: int
    max_tokens_field: str
    """The field that has the maximum number of tokens, or would have it."""
    temperature: float
    top_p: float
    seed: int | None
    stop: tuple[str, ...]
    logit_bias: Mapping[int, float]
    """Numbers that are added to the logits of tokens, before the mask."""
    logprobs: int | None
    is_streamed: bool
    has_usage: bool
    """Whether a stream ends with the numbers of tokens."""
    has_trace: bool
    """Whether choices have the trace of their tokens; not a field of OpenAI's requests."""


def read_body(body: bytes, *, kind: str) -> dict[str, Any]:
    """Reads the body of a request to ``completions`` or ``chat/completions``; refuses unsupported fields."""
    of_kind = {"prompt"} if kind == "completions" else {"messages", *_TOOLS}
    known = {
        *_SAMPLING,
        *_CONSTRAINTS,
        *_NAMES_OF_CONSTRAINTS,
        _WHITESPACE_PATTERN,
        *_WITHOUT_EFFECT,
        *of_kind,
    }
    fields = _with_structured_outputs(read_fields(body, kind=kind, known=known, neutral=_NEUTRAL))
    return without_tools(fields) if kind == "chat" and fields.get("tools", []) == [] else fields


def read_fields(
    body: bytes, *, kind: str, known: Collection[str], neutral: Mapping[str, tuple[Any, ...]]
) -> dict[str, Any]:
    """Reads the fields of a request, without those that are null.

    Args:
        body: The body, a JSON object.
        kind: ``completions``, ``chat`` or ``responses``.
        known: The names of the supported fields and of those without effect.
        neutral: Unsupported fields, with the values that are equivalent to their absence.

    Raises:
        BadRequest: The body is no object, or a field is not supported or must not be null.
    """
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"the body is no JSON: {error}", code="invalid_json") from None
    if not isinstance(fields, dict):
        raise BadRequest("the body is no JSON object", code="invalid_json")
    for name, value in fields.items():
        if value is None and name in _NEVER_NULL[kind]:
            raise BadRequest(f"{name} must not be null; leave it out", name)
        is_absent = name in neutral and (value is None or _is_one_of(value, neutral[name]))
        if not (name in known or is_absent):
            only = f", only {json.dumps(neutral[name][0])}" if name in neutral else ""
            raise BadRequest(f"{name} is not supported by this server{only}", name, "unsupported_parameter")
        right, expected = _TYPES_WITHOUT_EFFECT.get(name, (object, ""))
        if value is not None and not isinstance(value, right):
            raise BadRequest(f"{name} is {expected}", name)
        if not _is_unicode(value):
            raise BadRequest(f"{name} has half of a surrogate pair, which is no character", name)
    return {name: value for name, value in fields.items() if value is not None}


def _is_unicode(value: Any) -> bool:
    """Whether the texts in a value of JSON have no surrogates without their other half."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_one_of(value: Any, values: tuple[Any, ...]) -> bool:
    """Whether a value of JSON is one of others; in JSON, unlike in Python, ``true`` is not 1."""
    return any(value == other and isinstance(value, bool) == isinstance(other, bool) for other in values)


def without_tools(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Returns fields without those about tools that mean nothing without tools; clients send their defaults."""
    return {
        name: value
        for name, value in fields.items()
        if not (
            name == "tools"
            or (name == "tool_choice" and value in ("auto", "none"))
            or (name == "parallel_tool_calls" and isinstance(value, bool))
        )
    }


def _with_structured_outputs(fields: dict[str, Any]) -> dict[str, Any]:
    """Returns fields with the constraint that another server's field means."""
    names = [name for name in fields if name in _NAMES_OF_CONSTRAINTS]
    others = [name for name in (*_CONSTRAINTS, *names[1:]) if name in fields]
    if names and others:
        raise BadRequest(f"{names[0]} and {others[0]} exclude each other", others[0])
    written = dict(fields)
    pattern = written.pop(_WHITESPACE_PATTERN, None)
    if not names:
        if pattern is not None:
            raise BadRequest(f"{_WHITESPACE_PATTERN} needs guided_json", _WHITESPACE_PATTERN)
        return fields
    outputs = {_NAMES_OF_CONSTRAINTS[names[0]]: written.pop(names[0])}
    if pattern is not None:
        outputs["whitespace_pattern"] = pattern
    written["structured_outputs"] = outputs
    return written


def sampling_of(fields: Mapping[str, Any], *, kind: str, vocabulary_size: int) -> Sampling:
    """Reads the sampling options, with OpenAI's defaults except for the maximum number of tokens, which is 256."""
    stop = fields.get("stop", ())
    stop = (stop,) if isinstance(stop, str) else stop
    if not isinstance(stop, list | tuple) or not all(isinstance(text, str) and text for text in stop):
        raise BadRequest("stop is a text or a list of texts, none empty", "stop")
    if kind == "completions":
        logprobs = _number(fields, "logprobs", None, int, 0, _MAX_ALTERNATIVES)
    else:
        alternatives = _number(fields, "top_logprobs", 0, int, 0, _MAX_ALTERNATIVES)
        logprobs = alternatives if _flag(fields, "logprobs") else None
        if logprobs is None and alternatives > 0:
            raise BadRequest("top_logprobs needs logprobs", "top_logprobs")
    max_tokens_field = "max_completion_tokens" if "max_completion_tokens" in fields else "max_tokens"
    if fields.keys() >= {"max_tokens", "max_completion_tokens"}:
        raise BadRequest("max_tokens and max_completion_tokens exclude each other", "max_tokens")
    return Sampling(
        max_tokens_field=max_tokens_field,
        max_tokens=_number(fields, max_tokens_field, 256, int, 1, 1 << 20),
        temperature=_number(fields, "temperature", 1.0, float, 0, 100),
        top_p=_number(fields, "top_p", 1.0, float, 0, 1),
        seed=_number(fields, "seed", None, int, -(1 << 63), (1 << 63) - 1),
        stop=tuple(stop),
        logit_bias=_logit_bias(fields.get("logit_bias", {}), vocabulary_size),
        logprobs=logprobs,
        is_streamed=_flag(fields, "stream"),
        has_usage=_usage_of(fields),
        has_trace=_flag(fields, "trace"),
    )


def _logit_bias(biases: Any, vocabulary_size: int) -> dict[int, float]:
    """Returns the biases by the ids of tokens, which are written as texts."""
    if not isinstance(biases, dict):
        raise BadRequest("logit_bias is an object with the ids of tokens", "logit_bias")
    for token, bias in biases.items():
        if not (token.isascii() and token.isdecimal() and len(token) < 10 and int(token) < vocabulary_size):
            raise BadRequest(
                f"{token!r} is no id of a token; ids go from 0 to {vocabulary_size - 1}", "logit_bias"
            )
        is_number = isinstance(bias, int | float) and not isinstance(bias, bool)
        if not is_number or not -_MAX_BIAS <= bias <= _MAX_BIAS:
            raise BadRequest(f"a bias is a number from -{_MAX_BIAS} to {_MAX_BIAS}", "logit_bias")
    return {int(token): float(bias) for token, bias in biases.items()}


def _usage_of(fields: Mapping[str, Any]) -> bool:
    """Whether ``stream_options`` request the numbers of tokens."""
    options = fields.get("stream_options", {})
    if not isinstance(options, dict) or not options.keys() <= {"include_usage", "include_obfuscation"}:
        raise BadRequest("stream_options is an object with include_usage", "stream_options")
    if options and not fields.get("stream"):
        raise BadRequest("stream_options are for streams", "stream_options")
    return _flag(options, "include_usage")


def _flag(fields: Mapping[str, Any], name: str) -> bool:
    value = fields.get(name, False)
    if not isinstance(value, bool):
        raise BadRequest(f"{name} is true or false", name)
    return value


def prompt_of(fields: Mapping[str, Any]) -> str:
    """Returns the prompt of a completion."""
    prompt = fields.get("prompt", "")
    if isinstance(prompt, list) and len(prompt) == 1:
        prompt = prompt[0]
    if not isinstance(prompt, str):
        raise BadRequest("prompt is one text", "prompt")
    return prompt


def tools_of(fields: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the tools of a request, which may be none."""
    if "tools" not in fields:
        for name in ("tool_choice", "parallel_tool_calls"):
            if name in fields:
                raise BadRequest(f"{name} needs tools", name)
        return []
    tools = fields["tools"]
    if not isinstance(tools, list) or not tools or not all(isinstance(tool, dict) for tool in tools):
        raise BadRequest("tools is a list with at least one tool", "tools")
    if not isinstance(fields.get("parallel_tool_calls", True), bool):
        raise BadRequest("parallel_tool_calls is true or false", "parallel_tool_calls")
    return [_without_strict(tool, "function", "tools") for tool in tools]


def _without_strict(value: Any, name: str, param: str) -> Any:
    """Returns a format or a tool without ``strict``, also in its member of the given name.

    Schemas are enforced exactly in any case, also those that OpenAI would refuse because of it.

    Args:
        value: The format or the tool.
        name: The name of the member; empty for none.
        param: The field of the request, for errors.
    """
    if not isinstance(value, dict):
        return value
    if not isinstance(value.get("strict"), bool | None):
        raise BadRequest("strict is true or false", param)
    rest = {member: inner for member, inner in value.items() if member != "strict"}
    inner = rest.get(name)
    return {**rest, name: _without_strict(inner, "", param)} if isinstance(inner, dict) and name else rest


@dataclass(frozen=True)
class OutputForm:
    """How an output with reasoning or calls is written and read.

    Attributes:
        style: The style.
        tools: The tools that it can call.
        reasoning: Whether it begins with reasoning.
    """

    style: ToolStyle
    tools: Sequence[Mapping[str, Any]]
    reasoning: ReasoningMode


def output_form_of(
    fields: Mapping[str, Any], *, kind: str, tool_style: str, reasoning: ReasoningMode | None
) -> OutputForm | None:
    """Returns the form of the output of a request; None for one that is only a text.

    Args:
        fields: The body of the request.
        kind: ``completions`` or ``chat``; the former have neither reasoning nor calls.
        tool_style: The style in which the model writes reasoning and calls.
        reasoning: Whether outputs begin with reasoning; None for the default of the style.
    """
    style, tools = parsed_style(tool_style), tools_of(fields)
    mode = style.reasoning_mode(reasoning)
    if kind == "completions" or (not tools and mode == "none"):
        return None
    # Without tools, a text that looks like a call is none. The form of answers belongs to outputs without calls, too.
    return OutputForm(style if tools or style.answer is not None else style.without_calls(), tools, mode)


def grammar_of(
    fields: Mapping[str, Any], *, form: OutputForm | None, vocabulary: Vocabulary, limits: Limits
) -> Grammar | None:
    """Returns the grammar of a request; None for free text.

    ``response_format`` and ``tools`` are fields of OpenAI, ``structured_outputs`` is a field of vLLM, and ``grammar`` a
    field of llama.cpp, here in any notation.

    Args:
        fields: The body of the request.
        form: The form of outputs with reasoning or calls; None for outputs that are only a text.
        vocabulary: Decides which marks of the style are special tokens.
        limits: The limits of the grammar.
    """
    constraints = [name for name in (*_CONSTRAINTS, "tools") if name in fields]
    if len(constraints) > 1 and constraints != ["response_format", "tools"]:
        raise BadRequest(f"{' and '.join(constraints)} exclude each other", constraints[1])
    if form is None:
        return _text_grammar(fields, limits)
    answer = _response_format(fields) if form.tools else _text_grammar(fields, limits)
    if not form.tools and answer is None:
        return None
    return Grammar.from_tools(
        form.tools,
        style=form.style,
        tool_choice=fields.get("tool_choice"),
        parallel=fields.get("parallel_tool_calls", True),
        reasoning=form.reasoning,
        vocabulary=vocabulary,
        response_format=answer,
        limits=limits,
    )


def _text_grammar(fields: Mapping[str, Any], limits: Limits) -> Grammar | None:
    """Returns the grammar of an output that is only a text."""
    if "grammar" in fields:
        return request_grammars.grammar_text(_text_of(fields["grammar"], "grammar"), limits)
    if "structured_outputs" in fields:
        return _structured_outputs(fields["structured_outputs"], limits)
    if "response_format" in fields:
        return Grammar.from_response_format(_response_format(fields), limits=limits)
    return None


def constraint_in(fields: Mapping[str, Any]) -> str | None:
    """Returns the field that constrains the output, to which an error in a grammar belongs."""
    return next((name for name in ("tools", *_CONSTRAINTS) if name in fields), None)


def _response_format(fields: Mapping[str, Any]) -> Any:
    if not isinstance(fields.get("response_format"), dict | None):
        raise BadRequest("response_format is an object with a type", "response_format")
    return _without_strict(fields.get("response_format"), "json_schema", "response_format")


def budget_policy_of(fields: Mapping[str, Any], default: BudgetPolicy) -> BudgetPolicy:
    """Returns the policy of the token budget that the constraint of a request carries.

    Raises:
        GrammarSemanticError: There is no such policy.
    """
    constraints: list[Any] = []
    response_format: Any = fields.get("response_format")
    if isinstance(response_format, dict):
        constraints.append(response_format)
        named = response_format.get("json_schema")
        constraints.append(named.get("schema") if isinstance(named, dict) else None)
    outputs: Any = fields.get("structured_outputs")
    if isinstance(outputs, dict):
        constraints += [outputs.get("json"), outputs.get("structural_tag")]
    return default.for_request(*constraints)


def _structured_outputs(options: Any, limits: Limits) -> Grammar:
    kinds: dict[str, Callable[..., Grammar]] = {
        "json": Grammar.from_json_schema,
        "json_object": lambda _, limits: Grammar.from_response_format({"type": "json_object"}, limits=limits),
        "regex": request_grammars.regex,
        "choice": Grammar.from_choices,
        "grammar": lambda text, limits: request_grammars.grammar_text(
            _text_of(text, "structured_outputs.grammar"), limits
        ),
        "structural_tag": Grammar.from_structural_tag,
    }
    given = (
        {name: value for name, value in options.items() if value is not None}
        if isinstance(options, dict)
        else {}
    )
    pattern = given.pop("whitespace_pattern", None)
    if len(given) != 1 or not given.keys() <= kinds.keys():
        raise BadRequest(
            f"structured_outputs is an object with one of {', '.join(kinds)}", "structured_outputs"
        )
    ((kind, value),) = given.items()
    if kind == "json_object" and value is not True:
        raise BadRequest("json_object is true", "structured_outputs")
    if pattern is None:
        return kinds[kind](value, limits=limits)
    if not isinstance(pattern, str) or kind not in ("json", "json_object"):
        raise BadRequest("whitespace_pattern is a text, for json and json_object", "structured_outputs")
    schema = value if kind == "json" else {"type": "object"}
    return Grammar.from_json_schema(request_grammars.with_whitespace_pattern(schema, pattern), limits=limits)


def _text_of(text: Any, param: str) -> str:
    if not isinstance(text, str):
        raise BadRequest("a grammar is a text", param)
    return text


def _number(
    fields: Mapping[str, Any], name: str, default: Any, kind: type, minimum: float, maximum: float
) -> Any:
    if name not in fields:
        return default
    value = fields[name]
    allowed = (int, float) if kind is float else (int,)
    if not isinstance(value, allowed) or isinstance(value, bool) or not minimum <= value <= maximum:
        noun = "a number" if kind is float else "an integer"
        raise BadRequest(f"{name} is {noun} from {minimum} to {maximum}", name)
    return kind(value)
