"""OpenAI's ``response_format``, ``tools`` and ``tool_choice`` as grammars.

``definitions`` reads tools, ``calls`` writes their calls in the style of a family of models, ``response_formats`` reads
formats, ``reading`` reads the calls of an output and ``call_stream`` those of a growing one, ``custom_inputs`` makes
functions of custom tools. See ``docs/tools.md``.
"""

from grammask.tools.call_stream import CallFragment, CallStream
from grammask.tools.calls import calls_part
from grammask.tools.custom_inputs import function_of, shown_tools
from grammask.tools.definitions import Tool, chosen_tools
from grammask.tools.reading import Call, read_calls
from grammask.tools.response_formats import response_format_source, text_format_source

__all__ = [
    "Call",
    "CallFragment",
    "CallStream",
    "Tool",
    "calls_part",
    "chosen_tools",
    "function_of",
    "read_calls",
    "response_format_source",
    "shown_tools",
    "text_format_source",
]
