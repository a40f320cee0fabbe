"""Two tools, and a call of one of them in each style."""

from __future__ import annotations

from typing import Any

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
                "required": ["city"],
                "additionalProperties": False,
            },
        },
    },
    {"type": "function", "name": "now", "parameters": {"type": "object", "properties": {}}},
]

JSON = '{"city": "Paris", "days": 2}'
MIMO = "<parameter=city>Paris</parameter><parameter=days>2</parameter>"
QWEN = "<parameter=city>\nParis\n</parameter>\n<parameter=days>\n2\n</parameter>\n"
GLM = "\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n<arg_key>days</arg_key>\n<arg_value>2</arg_value>\n"
DEEPSEEK = (
    '<|DSML|parameter name="city" string="true">Paris</|DSML|parameter>\n'
    '<|DSML|parameter name="days" string="false">2</|DSML|parameter>\n'
).replace("|", "\uff5c")
MINIMAX = '<parameter name="city">Paris</parameter>\n<parameter name="days">2</parameter>\n'


COHERE = (
    '<cofl:value name="city" type="raw">Paris</cofl:value><cofl:value name="days" type="json">2</cofl:value>'
)


def deepseek(text: str) -> str:
    """Write the marks of DeepSeek with ASCII characters."""
    return text.replace("|", "\uff5c").replace("_", "\u2581")


def minimax_m3(text: str) -> str:
    """Write the mark of MiniMax M3 where the text has an `@`."""
    return text.replace("@", "]<]minimax[>[")


CALLS = {
    "cohere": f'<cofl:tool_calls><cofl:tool_call id="0" name="weather">{COHERE}</cofl:tool_call></cofl:tool_calls>',
    "deepseek_v3": deepseek("<|tool_calls_begin|><|tool_call_begin|>function<|tool_sep|>weather\n```json\n")
    + JSON
    + deepseek("\n```<|tool_call_end|><|tool_calls_end|>"),
    "deepseek_v3_1": deepseek("<|tool_calls_begin|><|tool_call_begin|>weather<|tool_sep|>")
    + JSON
    + deepseek("<|tool_call_end|><|tool_calls_end|>"),
    "deepseek_v3_2": '<|DSML|function_calls>\n<|DSML|invoke name="weather">\n'.replace("|", "\uff5c")
    + DEEPSEEK
    + "</|DSML|invoke>\n</|DSML|function_calls>".replace("|", "\uff5c"),
    "deepseek_v4": '<|DSML|tool_calls>\n<|DSML|invoke name="weather">\n'.replace("|", "\uff5c")
    + DEEPSEEK
    + "</|DSML|invoke>\n</|DSML|tool_calls>".replace("|", "\uff5c"),
    "deepseek_v4_1": '<|DSML| calls>\n<|DSML| invoke name="weather">\n'.replace("|", "\uff5c")
    + DEEPSEEK.replace("\uff5cparameter", "\uff5c parameter")
    + "</|DSML| invoke>\n</|DSML| calls>".replace("|", "\uff5c"),
    "exaone4": f'<tool_call>{{"name": "weather", "arguments": {JSON}}}</tool_call>',
    "gemma4": '<|tool_call>call:weather{city:<|"|>Paris<|"|>,days:2}<tool_call|>',
    "glm4_5": f"<tool_call>weather{GLM}</tool_call>",
    "granite3": f'<|tool_call|>[{{"name": "weather", "arguments": {JSON}}}]',
    "harmony": f"<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{JSON}",
    "hermes": f'<tool_call>\n{{"name": "weather", "arguments": {JSON}}}\n</tool_call>',
    "hunyuan3": f"<tool_calls>\n<tool_call>weather<tool_sep>{GLM}</tool_call>\n</tool_calls>",
    "hunyuan_a13b": f'<tool_calls>[{{"name": "weather", "arguments": {JSON}}}]</tool_calls>',
    "kimi_k2": "<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>"
    f"{JSON}<|tool_call_end|><|tool_calls_section_end|>",
    "kimi_k3": '<|open|>tools<|sep|><|open|>call tool="weather" index="1"<|sep|>'
    '<|open|>argument key="city" type="string"<|sep|>Paris<|close|>argument<|sep|>'
    '<|open|>argument key="days" type="number"<|sep|>2<|close|>argument<|sep|>'
    "<|close|>call<|sep|><|close|>tools<|sep|>",
    "llama3": f'{{"name": "weather", "parameters": {JSON}}}',
    "llama4_pythonic": '[weather(city="Paris", days=2)]',
    "mimo": f"<tool_call><function=weather>{MIMO}</function></tool_call>",
    "minimax_m2": f'<minimax:tool_call>\n<invoke name="weather">\n{MINIMAX}</invoke>\n</minimax:tool_call>',
    "minimax_m3": minimax_m3(
        '@<tool_call>\n@<invoke name="weather">\n@<city>Paris@</city>\n@<days>2@</days>\n@</invoke>\n@</tool_call>'
    ),
    "mistral": f'[TOOL_CALLS] [{{"name": "weather", "arguments": {JSON}}}]',
    "mistral_v7": f'[TOOL_CALLS] [{{"name": "weather", "arguments": {JSON}}}]',
    "mistral_v11": f"[TOOL_CALLS]weather[ARGS]{JSON}",
    "mistral_v13": f"[TOOL_CALLS]weather[ARGS]{JSON}",
    "nemotron3": f"<tool_call>\n<function=weather>\n{QWEN}</function>\n</tool_call>",
    "phi4_mini": f'<|tool_call|>[{{"name": "weather", "arguments": {JSON}}}]<|/tool_call|>',
    "qwen3_coder": f"<tool_call>\n<function=weather>\n{QWEN}</function>\n</tool_call>",
    "seed_oss": f"<seed:tool_call>\n<function=weather>\n{QWEN}</function>\n</seed:tool_call>",
}

WRAPPED = {
    "cohere": {
        "text": "<|START_TEXT|>I look. <|END_TEXT|>",
        "answer": "<|START_TEXT|>hello<|END_TEXT|>",
    },
    "harmony": {
        "text": "<|channel|>commentary<|message|>I look. <|end|><|start|>assistant",
        "answer": "<|channel|>final<|message|>hello",
    },
    "kimi_k3": {
        "text": "<|open|>response<|sep|>I look. <|close|>response<|sep|>",
        "answer": "<|open|>response<|sep|>hello<|close|>response<|sep|>",
    },
}
"""The text "I look. " before a call and the answer "hello" in the styles that do not write text as it is."""


def leading_text(style: str) -> str:
    """Return the text "I look. " before a call."""
    return WRAPPED[style]["text"] if style in WRAPPED else "I look. "


def answer(style: str) -> str:
    """Return the answer "hello"."""
    return WRAPPED[style]["answer"] if style in WRAPPED else "hello"
